package studio_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// bodies returns the notifications of a subject that wait for their delivery, in order.
func bodies(t *testing.T, db studio.Store, subjectID string) (all []string) {
	t.Helper()
	for i, event := range studiotest.Events(t, db, studio.EventFilter{SubjectID: subjectID, State: studio.EventPending}) {
		if event.Sequence != int64(i+1) {
			t.Errorf("event %d has the sequence %d", i+1, event.Sequence)
		}
		all = append(all, string(event.Body))
	}
	return all
}

func registered(user studio.User) studio.Creation {
	return studio.Creation{
		UserID: user.ID, Request: []byte(`{}`),
		Webhook: studio.Registration{URL: "https://hooks.example.com/", Enabled: true},
	}
}

func TestAvatar_hasOneEventForEachState(t *testing.T) {
	t.Parallel()
	const before, during = "before the rendering ends", "while it waits"
	for _, test := range []struct {
		name    string
		auto    *bool
		consent map[string]bool
		err     error
		want    []studio.Status
	}{
		{"waits for consent", nil, nil, nil, []studio.Status{"processing", "consent_pending"}},
		{"consent given while it waits", nil, map[string]bool{during: true}, nil, []studio.Status{"processing", "consent_pending", "published"}},
		{"consent refused while it waits", nil, map[string]bool{during: false}, nil, []studio.Status{"processing", "consent_pending", "consent_failed"}},
		{"consent given before", nil, map[string]bool{before: true}, nil, []studio.Status{"processing", "consent_pending", "published"}},
		{"consent refused before", nil, map[string]bool{before: false}, nil, []studio.Status{"processing", "consent_pending", "consent_failed"}},
		{"consent given by itself", new(true), nil, nil, []studio.Status{"processing", "consent_pending", "published"}},
		{"consent refused by itself", new(false), nil, nil, []studio.Status{"processing", "consent_pending", "consent_failed"}},
		{"a decision before counts more than the automatic one", new(true), map[string]bool{before: false}, nil, []studio.Status{"processing", "consent_pending", "consent_failed"}},
		{"rendering fails", new(true), nil, &studio.RenderError{Reason: "No face."}, []studio.Status{"processing", "failed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
				if test.auto != nil {
					service.AutoConsent = func(studio.Subject) bool { return *test.auto }
				}
				db := service.Store
				user := studiotest.AddUser(t, service, "ada@example.com")
				avatar := try(service.CreateAvatar(t.Context(), registered(user)))(t)
				decide := func(when string) {
					if granted, decided := test.consent[when]; decided {
						try(service.SubmitConsent(t.Context(), user.ID, avatar.ID, granted))(t)
					}
				}
				decide(before)
				for range 2 { // processing the same result again has no effect
					try(service.Rendered(t.Context(), avatar.ID, studio.Rendering{}, test.err))(t)
				}
				decide(during)

				var want []string
				for _, status := range test.want {
					want = append(want, `{"event_type":"avatar_event","data":{"avatar_id":"`+avatar.ID+`","status":"`+string(status)+`"}}`)
				}
				if diff := cmp.Diff(want, bodies(t, db, avatar.ID)); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				found := try(service.Find(t.Context(), user.ID, studio.Avatar, avatar.ID))(t)
				reasons := map[studio.Status]string{studio.ConsentFailed: "Consent was refused.", studio.Failed: "No face."}
				last := test.want[len(test.want)-1]
				if found.Status != last || found.FailureReason != reasons[last] || found.Final() != (last != studio.ConsentPending) {
					t.Errorf("%s, final %t, because %q", found.Status, found.Final(), found.FailureReason)
				}
				if !found.RenderAt.IsZero() || (found.Progress == 100) != (test.err == nil) {
					t.Errorf("due at %v, with the progress %d", found.RenderAt, found.Progress)
				}
				if last != studio.ConsentPending {
					_, err := service.SubmitConsent(t.Context(), user.ID, avatar.ID, true)
					wantError(t, err, studio.ErrFinal)
				}
			})
		})
	}
}

func TestInference_hasAnEventForFinalStatesOnly(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err    error
		status studio.Status
	}{{nil, studio.Succeeded}, {&studio.RenderError{Reason: "Too long."}, studio.Failed}} {
		t.Run(string(test.status), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
				service.AutoConsent = func(studio.Subject) bool { return true }
				db := service.Store
				user := studiotest.AddUser(t, service, "ada@example.com")
				avatar := try(service.CreateAvatar(t.Context(), registered(user)))(t)
				_, err := service.CreateVideo(t.Context(), avatar.ID, studio.Creation{UserID: user.ID})
				wantError(t, err, studio.ErrNotPublished)
				try(service.Rendered(t.Context(), avatar.ID, studio.Rendering{}, nil))(t)

				video := try(service.CreateVideo(t.Context(), avatar.ID, studio.Creation{UserID: user.ID}))(t)
				if video.WebhookURL == "" || video.WebhookURL != avatar.WebhookURL {
					t.Errorf("the webhook of the video is %q, want that of the avatar: %q", video.WebhookURL, avatar.WebhookURL)
				}
				lipsync := try(service.CreateLipsync(t.Context(), registered(user)))(t)
				for _, subject := range []studio.Subject{video, lipsync} {
					done := try(service.Rendered(t.Context(), subject.ID, studio.Rendering{Video: "out.mp4"}, test.err))(t)
					if done.Status != test.status || (done.Rendering.Video == "") != (test.err != nil) || (done.FailureReason == "") != (test.err == nil) {
						t.Errorf("%s is %s with file %q and reason %q", done.Kind, done.Status, done.Rendering.Video, done.FailureReason)
					}
				}
				data := func(id string) string {
					return `"data":{"inference_id":"` + id + `","status":"` + string(test.status) + `"}}`
				}
				got := slices.Concat(bodies(t, db, video.ID), bodies(t, db, lipsync.ID))
				want := []string{
					`{"event_type":"avatar_inference_event",` + data(video.ID),
					`{"event_type":"lipsync_inference_event",` + data(lipsync.ID),
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// While a disk is full or the bucket is unavailable, a rendering is retried without counting attempts.
func TestRendered_retriesDuringAnOutage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "ada@example.com")
		lipsync := try(service.CreateLipsync(t.Context(), registered(user)))(t)
		outage := fmt.Errorf("%w: no space left", studio.ErrUnavailable)
		for range 24 {
			lipsync = try(service.Rendered(t.Context(), lipsync.ID, studio.Rendering{}, outage))(t)
			if lipsync.Status != studio.Processing || !lipsync.RenderAt.Equal(clock.Now().Add(time.Minute)) || lipsync.RenderTries != 0 {
				t.Fatalf("%s, due in %v after %d tries", lipsync.Status, lipsync.RenderAt.Sub(clock.Now()), lipsync.RenderTries)
			}
			clock.Add(time.Hour)
		}
		for range 3 {
			lipsync = try(service.Rendered(t.Context(), lipsync.ID, studio.Rendering{}, outage))(t)
		}
		if lipsync.Status != studio.Failed || lipsync.FailureReason != "The renderer did not finish." {
			t.Errorf("after a day, it is %s because %q", lipsync.Status, lipsync.FailureReason)
		}
	})
}

func TestCreate_registersEnabledWebhooksOnly(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		webhook studio.Registration
		detail  string
		events  int
	}{
		{"nothing given", studio.Registration{}, "", 0},
		{"enabled with a URL", studio.Registration{URL: "https://hooks.example.com/", Enabled: true}, "", 1},
		{"a URL that is not enabled", studio.Registration{URL: "https://hooks.example.com/"}, "", 0},
		{"a refused URL that is not enabled", studio.Registration{URL: "https://refused.example/"}, "", 0},
		{"enabled without a URL", studio.Registration{Enabled: true}, "/webhook_data/webhook_url webhook_url_missing: is required when the webhook is enabled", 0},
		{"enabled with a refused URL", studio.Registration{URL: "https://refused.example/", Enabled: true}, "/webhook_data/webhook_url webhook_url_not_public: must not be refused", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
				db := service.Store
				user := studiotest.AddUser(t, service, "ada@example.com")
				avatar, err := service.CreateAvatar(t.Context(), studio.Creation{UserID: user.ID, Request: []byte(`{}`), Webhook: test.webhook})
				detail := ""
				if invalid := (*studio.Error)(nil); errors.As(err, &invalid) {
					detail = invalid.Pointer + " " + invalid.Code + ": " + invalid.Reason
				} else {
					check(t, err)
				}
				if detail != test.detail {
					t.Errorf("refused because %q, want %q", detail, test.detail)
				}
				unsent := studiotest.Events(t, db, studio.EventFilter{UserID: user.ID, State: studio.EventUnsent})
				if test.detail == "" && len(unsent) != 1-test.events {
					t.Errorf("%d events without a webhook, want %d", len(unsent), 1-test.events)
				}
				if got := len(bodies(t, db, avatar.ID)); got != test.events {
					t.Errorf("%d events, want %d", got, test.events)
				}
			})
		})
	}
}

func TestCreate_isIdempotentWithAKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		ada := studiotest.AddUser(t, service, "ada@example.com")
		bob := studiotest.AddUser(t, service, "bob@example.com")
		creation := registered(ada)
		creation.IdempotencyKey = "key"
		first := try(service.CreateLipsync(t.Context(), creation))(t)
		clock.Add(time.Minute)
		try(service.Rendered(t.Context(), first.ID, studio.Rendering{Video: "out.mp4"}, nil))(t)

		failing := creation
		failing.IdempotencyKey = "failing"
		failed := try(service.CreateLipsync(t.Context(), failing))(t)
		try(service.Rendered(t.Context(), failed.ID, studio.Rendering{}, &studio.RenderError{Reason: "No face."}))(t)

		again := try(service.CreateLipsync(t.Context(), creation))(t)
		failedAgain := try(service.CreateLipsync(t.Context(), failing))(t)
		shown := func(s studio.Subject) []any {
			return []any{s.ID, s.Status, s.CreatedAt, s.UpdatedAt, s.Rendering.Video, s.Progress, s.FailureReason}
		}
		if diff := cmp.Diff([][]any{shown(first), shown(failed)}, [][]any{shown(again), shown(failedAgain)}); diff != "" {
			t.Errorf("the second answer differs (-first +second):\n%s", diff)
		}
		other := creation
		other.Request = []byte(`{"title":"another"}`)
		_, err := service.CreateLipsync(t.Context(), other)
		wantError(t, err, studio.ErrKeyReused)
		_, err = service.CreateAvatar(t.Context(), creation)
		wantError(t, err, studio.ErrKeyReused) // a different operation is a different request

		creation.UserID = bob.ID
		bobs := try(service.CreateLipsync(t.Context(), creation))(t)
		creation.UserID = ada.ID
		clock.Add(24*time.Hour - time.Minute - time.Second)
		if last, err := service.CreateLipsync(t.Context(), creation); last.ID != first.ID || err != nil {
			t.Errorf("a second before the end of the day, the key makes %s, %v", last.ID, err)
		}
		clock.Add(time.Second)
		later := try(service.CreateLipsync(t.Context(), creation))(t)
		if bobs.ID == first.ID || later.ID == first.ID {
			t.Error("a key holds for one user and one day")
		}
	})
}

// A receiver recognizes an event by its ID even if the event is created again because its creation was after the
// backup that was restored.
func TestEvent_hasTheSameIDAfterARestore(t *testing.T) {
	t.Parallel()
	backup, restored := filepath.Join(t.TempDir(), "backup.db"), "sqlite:"+filepath.Join(t.TempDir(), "studio.db")
	db, clock := studiotest.Open(t, studiotest.NewSQLite(t)), studiotest.NewClock()
	service := studio.New(studiotest.Config(db, clock.Now))
	avatar := try(service.CreateAvatar(t.Context(), registered(studiotest.AddUser(t, service, "ada@example.com"))))(t)
	check(t, db.Backup(t.Context(), backup))
	check(t, store.Restore(t.Context(), backup, restored))

	finish := func(db *store.Store) (events []studio.EventRecord) {
		service := studio.New(studiotest.Config(db, clock.Now))
		clock.Add(time.Hour)
		try(service.Rendered(t.Context(), avatar.ID, studio.Rendering{}, nil))(t)
		return studiotest.Events(t, db, studio.EventFilter{SubjectID: avatar.ID})
	}
	before := finish(db)
	after := finish(studiotest.Open(t, restored))
	if len(before) != 2 || len(after) != 2 {
		t.Fatalf("there are %d and %d events, want 2", len(before), len(after))
	}
	for i, event := range before {
		if again := after[i]; again.ID != event.ID || string(again.Body) != string(event.Body) {
			t.Errorf("event %d is %s %s, and after the restore %s %s", i, event.ID, event.Body, again.ID, again.Body)
		}
		if id, err := uuid.Parse(event.ID); err != nil || id.Version() != 8 || id.Variant() != uuid.RFC4122 {
			t.Errorf("the ID %s is no UUID of version 8: %v", event.ID, err)
		}
	}
	if before[0].Sequence != 1 || before[0].ID >= before[1].ID || before[1].CreatedAt.Equal(after[1].CreatedAt) {
		t.Errorf("events are %+v and %+v", before[0], before[1])
	}
}
