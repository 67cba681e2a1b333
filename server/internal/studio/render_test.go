package studio_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A rendering is tried three times. The reason and the checks are those of the last attempt.
func TestRendered_retriesBeforeTheSubjectFails(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "ada@example.com")
		checks := []studio.Check{{Name: "one_face", Message: "There are two faces."}}
		for reason, failure := range map[string]error{
			"The renderer did not finish.": errors.New("out of memory"), "Two faces.": &studio.RenderError{Reason: "Two faces.", Checks: checks, Retry: true},
		} {
			lipsync := try(service.CreateLipsync(t.Context(), registered(user)))(t)
			for _, pause := range []time.Duration{10 * time.Second, time.Minute} {
				lipsync = try(service.Rendered(t.Context(), lipsync.ID, studio.Rendering{}, failure))(t)
				if lipsync.Status != studio.Processing || !lipsync.RenderAt.Equal(clock.Now().Add(pause)) || lipsync.FailureReason != "" || lipsync.Rendering.Checks != nil {
					t.Errorf("want to be tried again in %v: %+v", pause, lipsync)
				}
			}
			lipsync = try(service.Rendered(t.Context(), lipsync.ID, studio.Rendering{}, failure))(t)
			if lipsync.Status != studio.Failed || !lipsync.RenderAt.IsZero() || lipsync.FailureReason != reason || (lipsync.Rendering.Checks != nil) != (reason == "Two faces.") {
				t.Errorf("in the end: %+v", lipsync)
			}
		}
	})
}

// A sample has the final status of its kind, and its own ids.
func TestTestWebhook_sendsASampleOfTheKind(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "ada@example.com")
		for kind, want := range map[studio.Kind]string{
			studio.Avatar:  `{"event_type":"avatar_event","data":{"avatar_id":"ID","status":"published"}}`,
			studio.Video:   `{"event_type":"avatar_inference_event","data":{"inference_id":"ID","status":"succeeded"}}`,
			studio.Lipsync: `{"event_type":"lipsync_inference_event","data":{"inference_id":"ID","status":"succeeded"}}`,
		} {
			attempt, got, err := service.TestWebhook(t.Context(), user.ID, "https://hooks.example.com/", kind)
			check(t, err)
			if !attempt.Delivered() || got.ID == "" || got.ID == got.SubjectID {
				t.Errorf("%s: %+v", kind, attempt)
			}
			want := studio.Event{
				ID: got.ID, SubjectID: got.SubjectID, Sequence: 1, CreatedAt: clock.Now(),
				Body: []byte(strings.Replace(want, "ID", got.SubjectID, 1)),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", kind, diff)
			}
			clock.Add(time.Second)
		}
		_, _, err := service.TestWebhook(t.Context(), user.ID, "https://refused.example/", studio.Avatar)
		if invalid := (*studio.Error)(nil); !errors.As(err, &invalid) || invalid.Pointer != "/webhook_url" {
			t.Errorf("a refused URL: %v", err)
		}
	})
}

// Progress never decreases and ends at 100. The stage and the time left are those of the latest report, and only as
// long as the subject is being rendered.
func TestProgressed_neverDecreasesProgress(t *testing.T) {
	t.Parallel()
	onSQLite(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "ada@example.com")
		lipsync := try(service.CreateLipsync(t.Context(), studio.Creation{UserID: user.ID, Request: []byte("{}")}))(t)
		shows := func(want studio.Progress) {
			t.Helper()
			found := try(service.Find(t.Context(), user.ID, studio.Lipsync, lipsync.ID))(t)
			if got := service.Progress(&found); got != want {
				t.Errorf("progress %+v, want %+v", got, want)
			}
		}
		report := func(progress studio.Progress) {
			t.Helper()
			check(t, service.Progressed(t.Context(), lipsync.ID, progress))
		}
		shows(studio.Progress{})
		report(studio.Progress{Done: 0.4, Stage: "drawing", Left: time.Minute})
		clock.Add(10 * time.Second)
		shows(studio.Progress{Done: 0.4, Stage: "drawing", Left: 50 * time.Second})
		clock.Add(time.Hour)
		shows(studio.Progress{Done: 0.4, Stage: "drawing"})
		try(service.Rendered(t.Context(), lipsync.ID, studio.Rendering{}, errors.New("out of memory")))(t)
		shows(studio.Progress{Done: 0.4}) // it waits for its next attempt
		clock.Add(time.Minute)
		report(studio.Progress{Done: 0.2, Stage: "fetching"})
		shows(studio.Progress{Done: 0.4, Stage: "fetching"})
		try(service.Rendered(t.Context(), lipsync.ID, studio.Rendering{Video: "out.mp4"}, nil))(t)
		shows(studio.Progress{Done: 1})
		report(studio.Progress{Done: 0.5, Stage: "drawing", Left: time.Minute})
		shows(studio.Progress{Done: 1})
	})
}
