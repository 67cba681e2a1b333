package studio_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A subject has what its request and its avatar give it. It is due to be rendered at once.
func TestCreate_storesTheCreation(t *testing.T) {
	t.Parallel()
	studiotest.EachStore(t, func(t *testing.T, db studio.Store) {
		clock := studiotest.NewClock()
		cfg := studiotest.Config(db, clock.Now)
		cfg.TraceParent = func(context.Context) string { return "00-trace" }
		service := studio.New(cfg)
		user := studiotest.AddUser(t, service, "ada@example.com")
		creation := registered(user)
		creation.Title, creation.RequestID = new("Ada"), "request"
		avatar := try(service.CreateAvatar(t.Context(), creation))(t)
		check(t, publish(t, service, avatar))
		creation = studio.Creation{UserID: user.ID, Title: new("Hello"), Request: []byte(`{"text":"Hi."}`), RequestID: "another"}
		video := try(service.CreateVideo(t.Context(), avatar.ID, creation))(t)
		got := try(service.Find(t.Context(), user.ID, studio.Video, video.ID))(t)
		got.Sequence, got.Events = 0, nil
		want := studio.Subject{
			ID: video.ID, Kind: studio.Video, UserID: user.ID, AvatarID: avatar.ID, AvatarTitle: new("Ada"), Title: new("Hello"),
			Request: []byte(`{"text":"Hi."}`), RequestID: "another", TraceParent: "00-trace", WebhookURL: "https://hooks.example.com/",
			Status: studio.Processing, CreatedAt: clock.Now(), UpdatedAt: clock.Now(), RenderAt: clock.Now(),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
		want.AvatarTitle, want.RequestID, want.TraceParent, want.RenderAt = nil, "", "", time.Time{} // not part of the answer
		if diff := cmp.Diff(want, video); diff != "" {
			t.Errorf("returned (-want +got):\n%s", diff)
		}
	})
}

// publish moves an avatar to the state published.
func publish(t *testing.T, service *studio.Service, avatar studio.Subject) error {
	t.Helper()
	if _, err := service.SubmitConsent(t.Context(), avatar.UserID, avatar.ID, true); err != nil {
		return err
	}
	_, err := service.Rendered(t.Context(), avatar.ID, studio.Rendering{}, nil)
	return err
}

// The states and transitions are those of the contract, and no others.
func TestTransitions_areThoseOfTheContract(t *testing.T) {
	t.Parallel()
	inference := map[studio.Status][]studio.Status{"": {"processing"}, "processing": {"succeeded", "failed"}}
	want := map[studio.Kind]map[studio.Status][]studio.Status{
		"avatar": {
			"":                {"processing"},
			"processing":      {"consent_pending", "failed"},
			"consent_pending": {"published", "consent_failed"},
		},
		"video": inference, "lipsync": inference,
	}
	statuses := []studio.Status{
		"", studio.Processing, studio.Failed, studio.Published, studio.ConsentPending, studio.ConsentFailed, studio.Succeeded,
	}
	for kind, next := range want {
		for _, from := range statuses {
			for _, to := range statuses {
				subject := studio.Subject{Kind: kind, Status: from}
				if err := subject.Enter(to, time.Time{}); (err == nil) != slices.Contains(next[from], to) || (subject.Status == to) != (err == nil || from == to) {
					t.Errorf("%s from %q to %q: %v, and is %q", kind, from, to, err, subject.Status)
				}
			}
		}
	}
}

// The token was valid when the request began. No response is a status that its operation does not have.
func TestService_refusesWritesOfADeletedUser(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		service := studio.New(studiotest.Config(db, studiotest.NewClock().Now))
		service.Media = memstore.NewMedia("https://media.example.com/")
		user := studiotest.AddUser(t, service, "ada@example.com")
		check(t, studiotest.DeleteUser(t.Context(), service, "ada@example.com"))
		_, err := service.CreateAvatar(t.Context(), registered(user))
		wantError(t, err, studio.ErrUnauthorized)
		_, err = service.CreateLipsync(t.Context(), registered(user))
		wantError(t, err, studio.ErrUnauthorized)
		_, err = service.CreateVideo(t.Context(), "a", registered(user))
		wantError(t, err, studio.ErrNotFound)
		_, _, err = service.Upload(t.Context(), user.ID, "image/png", strings.NewReader("picture"))
		wantError(t, err, studio.ErrUnauthorized)
		_, err = service.WebhookSecrets(t.Context(), user.ID)
		wantError(t, err, studio.ErrUnauthorized)
		_, err = service.RotateWebhookSecret(t.Context(), user.ID)
		wantError(t, err, studio.ErrUnauthorized)
		_, err = service.ReplayEvents(t.Context(), studio.Replay{Filter: studio.EventFilter{UserID: user.ID}, EventIDs: []string{"a"}, IdempotencyKey: "key"})
		wantError(t, err, studio.ErrUnauthorized)
	})
}
