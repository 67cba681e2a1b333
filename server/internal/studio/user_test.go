package studio_test

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

type serviceTest = func(t *testing.T, service *studio.Service, clock *studiotest.Clock)

// each runs a test of a rule with a service in memory and on SQLite. Package store tests what differs on PostgreSQL.
func each(t *testing.T, test serviceTest) {
	t.Helper()
	on(t, "memory", memstore.New(), test)
	onSQLite(t, test)
}

// onSQLite is each for a rule that no service in memory has.
func onSQLite(t *testing.T, test serviceTest) {
	t.Helper()
	on(t, "SQLite", studiotest.Open(t, studiotest.NewSQLite(t)), test)
}

func on(t *testing.T, name string, db studio.Store, test serviceTest) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		clock := studiotest.NewClock()
		test(t, studio.New(studiotest.Config(db, clock.Now)), clock)
	})
}

// prune deletes what a database no longer needs.
func prune(t *testing.T, service *studio.Service, now time.Time) {
	t.Helper()
	if db, ok := service.Store.(*store.Store); ok {
		check(t, db.Prune(t.Context(), now))
	}
}

var (
	check     = harness.Check
	wantError = harness.WantError
)

func try[T any](result T, err error) func(t testing.TB) T { return harness.Try(result, err) }

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestDeleteUser_erasesTheRecordsOfTheUser(t *testing.T) {
	t.Parallel()
	onSQLite(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		ada, bob := studiotest.AddUser(t, service, "ada@example.com"), studiotest.AddUser(t, service, "bob@example.com")
		media := service.Media.(*memstore.Media)
		var kept studio.Subject
		for _, user := range []studio.User{ada, bob} {
			lipsync, err := service.CreateLipsync(t.Context(), studio.Creation{
				UserID: user.ID, Request: []byte(`{}`), Webhook: studio.Registration{URL: "https://hooks.example.com/", Enabled: true},
			})
			check(t, err)
			check(t, media.Write(t.Context(), studio.ResultKey(lipsync.ID, "video.mp4"), strings.NewReader("video")))
			_, _, err = service.Upload(t.Context(), user.ID, "image/png", strings.NewReader("face"))
			check(t, err)
			try(service.WebhookSecrets(t.Context(), user.ID))(t)
			try(service.Login(t.Context(), netip.Addr{}, user.Email, "password"))(t)
			kept = lipsync
		}
		deleted := errors.New("the user is not deleted yet")
		_, _, err := service.Upload(t.Context(), ada.ID, "image/png", readerFunc(func([]byte) (int, error) {
			deleted = studiotest.DeleteUser(t.Context(), service, "ada@example.com") // during the upload
			return 0, io.EOF
		}))
		check(t, deleted)
		wantError(t, err, studio.ErrUnauthorized)
		_, err = service.WebhookSecrets(t.Context(), ada.ID)
		wantError(t, err, studio.ErrUnauthorized)

		_, err = service.Login(t.Context(), netip.Addr{}, "ada@example.com", "password")
		wantError(t, err, studio.ErrUnauthorized)
		wantError(t, studiotest.DeleteUser(t.Context(), service, "ada@example.com"), studio.ErrNotFound)
		if keys := media.Keys(); len(keys) != 2 || keys[0] != studio.ResultKey(kept.ID, "video.mp4") {
			t.Errorf("the files left are %v, want the two of another user", keys)
		}
		if _, err := service.Store.Subject(t.Context(), kept.ID); err != nil {
			t.Errorf("the lip-sync of another user: %v", err)
		}
		studiotest.AddUser(t, service, "ada@example.com") // the email can be used again
		clock.Add(studio.Retention + time.Hour)
		prune(t, service, clock.Now())
	})
}

// endlessStore has another batch of each task.
type endlessStore struct {
	studio.Store
	studio.DatabaseStore
}

func (s endlessStore) DeleteSubject(ctx context.Context, userID, workspaceID string, kind studio.Kind, id string, now, repeatAfter time.Time) (studio.Erased, error) {
	erased, err := s.Store.DeleteSubject(ctx, userID, workspaceID, kind, id, now, repeatAfter)
	erased.More = true
	return erased, err
}

func (endlessStore) NextBatch(context.Context, string, time.Time) (studio.Erased, error) {
	time.Sleep(time.Second)
	return studio.Erased{More: true}, nil
}

// The caller of a long deletion is told to call again, before it gives up.
func TestDelete_isBusyAfter20Seconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := studio.New(studiotest.Config(endlessStore{Store: memstore.New()}, time.Now))
		ada := studiotest.AddUser(t, service, "ada@example.com")
		avatar := try(service.CreateAvatar(t.Context(), registered(ada)))(t)
		began := time.Now()
		wantError(t, service.Delete(t.Context(), ada.ID, studio.Avatar, avatar.ID), studio.ErrBusy)
		if waited := time.Since(began); waited < 20*time.Second || waited > 21*time.Second {
			t.Errorf("it took %v", waited)
		}
	})
}

func TestWebhookSecrets_overlapForADayAfterARotation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "ada@example.com")
		first := try(service.WebhookSecrets(t.Context(), user.ID))(t)
		again := try(service.WebhookSecrets(t.Context(), user.ID))(t)
		if len(first) != 1 || len(again) != 1 || first[0] != again[0] {
			t.Fatalf("%d and %d secrets, want one and the same", len(first), len(again))
		}
		rotated := try(service.RotateWebhookSecret(t.Context(), user.ID))(t)
		if len(rotated) != 2 || rotated[1].Secret != first[0] {
			t.Fatalf("%d secrets after a rotation, want the new one and then the old one", len(rotated))
		}
		clock.Add(12 * time.Hour)
		both := try(service.RotateWebhookSecret(t.Context(), user.ID))(t)
		if len(both) != 3 {
			t.Errorf("%d secrets after another rotation, want three", len(both))
		}
		clock.Add(12 * time.Hour) // the second rotation did not extend the first secret
		left := try(service.WebhookSecrets(t.Context(), user.ID))(t)
		if len(left) != 2 || left[1] != rotated[0].Secret {
			t.Errorf("%d secrets a day after the first rotation, want the newer two", len(left))
		}
	})
}
