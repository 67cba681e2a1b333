package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func nextDelivery(t *testing.T, db *store.Store, subjectID string) store.Delivery {
	t.Helper()
	return try(db.NextDelivery(t.Context(), subjectID))(t)
}

// finish records an attempt at noon for the next event of a subject.
func finish(t *testing.T, db *store.Store, subjectID string, outcome store.Outcome) {
	t.Helper()
	check(t, recordAttempt(t.Context(), db, nextDelivery(t, db, subjectID).Event, studio.Attempt{At: noon()}, outcome))
}

func create(t *testing.T, db studio.Store, s studio.Subject) {
	t.Helper()
	check(t, createError(t, db, s))
}

func ids(events []studio.EventRecord) (all []string) {
	for _, event := range events {
		all = append(all, event.ID)
	}
	return all
}

func TestStore_Events_appliesTheFilter(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		create(t, db, subject("a", 3))
		late := subject("b", 1)
		late.Events[0].CreatedAt = noon().Add(time.Hour)
		create(t, db, late)
		finish(t, db, "a", store.Outcome{State: studio.EventDelivered})
		finish(t, db, "a", store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonSchedule})
		unsent := subject("c", 2)
		unsent.Kind, unsent.WebhookURL = studio.Video, ""
		create(t, db, unsent)
		for _, test := range []struct {
			name   string
			filter studio.EventFilter
			want   []string
		}{
			{"all", studio.EventFilter{}, []string{"a-1", "a-2", "a-3", "b-1", "c-1", "c-2"}},
			{"one user", studio.EventFilter{UserID: "bob"}, nil},
			{"one event", studio.EventFilter{UserID: "ada", ID: "a-2"}, []string{"a-2"}},
			{"one subject", studio.EventFilter{SubjectID: "b"}, []string{"b-1"}},
			{"one kind", studio.EventFilter{UserID: "ada", Kind: studio.Video}, []string{"c-1", "c-2"}},
			{"pending", studio.EventFilter{State: studio.EventPending}, []string{"a-3", "b-1"}},
			{"delivered", studio.EventFilter{State: studio.EventDelivered}, []string{"a-1"}},
			{"exhausted", studio.EventFilter{State: studio.EventExhausted}, []string{"a-2"}},
			{"without a webhook", studio.EventFilter{State: studio.EventUnsent}, []string{"c-1", "c-2"}},
			{"from", studio.EventFilter{From: noon().Add(time.Hour)}, []string{"b-1", "c-1", "c-2"}},
			{"to, not included", studio.EventFilter{To: noon().Add(time.Hour)}, []string{"a-1", "a-2", "a-3"}},
			{"none", studio.EventFilter{SubjectID: "b", State: studio.EventExhausted}, nil},
		} {
			if got := ids(studiotest.Events(t, db, test.filter)); !slices.Equal(got, test.want) {
				t.Errorf("%s: %v, want %v", test.name, got, test.want)
			}
		}
		got := try(db.Event(t.Context(), "a-2"))(t)
		want := studio.EventRecord{
			Event:  studio.Event{ID: "a-2", SubjectID: "a", Sequence: 2, Body: []byte(`{"event":2}`), CreatedAt: noon().Add(time.Microsecond)},
			UserID: "ada", URL: "https://hooks.example.com/", State: studio.EventExhausted, Tries: 1, EndedAt: noon(),
			Reason: studio.ReasonSchedule, Kind: studio.Avatar, Title: new("Ada"), Status: studio.Processing, Last: studio.Attempt{Number: 1, At: noon()},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
		_, err := db.Event(t.Context(), "d-1")
		wantError(t, err, studio.ErrNotFound)
	})
}

func TestStore_Endpoints_areSwitchedOffPerUser(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		check(t, db.CreateUser(t.Context(), studio.User{ID: "bob", Email: "bob@example.com", CreatedAt: noon()}))
		for _, id := range []string{"a", "b", "c", "d"} {
			s := subject(id, 1)
			switch id {
			case "c":
				s.UserID = "bob"
			case "d":
				s.WebhookURL += "other"
			}
			create(t, db, s)
		}
		off := func(want ...string) {
			t.Helper()
			var got []string
			for _, id := range []string{"b", "c", "d"} {
				next := nextDelivery(t, db, id)
				if next.Origin != "https://hooks.example.com" {
					t.Errorf("the origin is %s", next.Origin)
				}
				if next.URLDisabled {
					got = append(got, id)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("off is the URL of %v, want %v", got, want)
			}
		}
		off()
		finish(t, db, "a", store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonGone, DisableURL: true})
		off("b")
		finish(t, db, "b", store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonGone, DisableURL: true}) // an attempt that was in flight
		create(t, db, func() studio.Subject { s := subject("e", 1); s.Events[0].ID = "e-1"; return s }())
		endpoints := try(db.TroubledEndpoints(t.Context(), 2))(t)
		if len(endpoints) != 1 || endpoints[0].URL != "https://hooks.example.com/" || !endpoints[0].DisabledAt.Equal(noon()) {
			t.Errorf("disabled are %+v", endpoints)
		}
		if !nextDelivery(t, db, "e").URLDisabled {
			t.Error("a new registration of the URL enables it")
		}
		check(t, db.EnableEndpoint(t.Context(), "bob", "https://hooks.example.com/"))
		if !nextDelivery(t, db, "e").URLDisabled {
			t.Error("another user enables the URL")
		}
		check(t, db.EnableEndpoint(t.Context(), "ada", "https://hooks.example.com/"))
		// A deliverer that has read the event before gives it up only now.
		next := try(db.ExhaustEvents(t.Context(), "e", noon(), studio.ReasonDisabled))(t)
		if next.IsZero() || nextDelivery(t, db, "e").URLDisabled {
			t.Error("an enabled URL is off")
		}
	})
}
