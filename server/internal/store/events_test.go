package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

func nextDelivery(t *testing.T, db *store.Store, subjectID string) store.Delivery {
	t.Helper()
	next, err := db.NextDelivery(t.Context(), subjectID)
	check(t, err)
	return next
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
		got, err := db.Event(t.Context(), "a-2")
		check(t, err)
		want := studio.EventRecord{
			Event:  studio.Event{ID: "a-2", SubjectID: "a", Sequence: 2, Body: []byte(`{"event":2}`), CreatedAt: noon().Add(time.Microsecond)},
			UserID: "ada", URL: "https://hooks.example.com/", State: studio.EventExhausted, Tries: 1, EndedAt: noon(),
			Reason: studio.ReasonSchedule, Kind: studio.Avatar, Title: new("Ada"), Status: studio.Processing, Last: studio.Attempt{Number: 1, At: noon()},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
		_, err = db.Event(t.Context(), "d-1")
		wantError(t, err, studio.ErrNotFound)
	})
}

func TestStore_Replay_keepsTheOrderOfEvents(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		create(t, db, subject("a", 4))
		finish(t, db, "a", store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonSchedule})
		finish(t, db, "a", store.Outcome{State: studio.EventDelivered})
		finish(t, db, "a", store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonRefused})
		<-db.Due()
		db.TakeDue()
		hour := noon().Add(time.Hour)
		replayed, err := db.Replay(t.Context(), studio.EventFilter{State: studio.EventPending}, hour)
		check(t, err)
		if replayed != 2 {
			t.Errorf("%d events are replayed, want the 2 that were exhausted", replayed)
		}
		select {
		case <-db.Due():
		default:
			t.Error("a replayed event is not signaled")
		}
		if flows := db.TakeDue(); !slices.Equal(flows, []store.Flow{{UserID: "ada", Origin: "https://hooks.example.com"}}) {
			t.Errorf("due flows are %v", flows)
		}
		for _, want := range []string{"a-1", "a-3", "a-4"} {
			next := nextDelivery(t, db, "a")
			if next.Event.ID != want || next.Tries != 0 || next.DueAt.After(hour) {
				t.Errorf("next is %+v, want %s", next, want)
			}
			finish(t, db, "a", store.Outcome{State: studio.EventDelivered})
		}
		attempts := attemptsOf(t, db, "a-1")
		if len(attempts) != 2 || attempts[1].Number != 2 {
			t.Errorf("attempts are %+v, want the one before the replay too", attempts)
		}
		event, err := db.Event(t.Context(), "a-1")
		check(t, err)
		if event.Tries != 1 || event.Reason != "" || event.State != studio.EventDelivered {
			t.Errorf("the event is %+v", event)
		}
	})
}

func TestStore_Replay_appliesTheFilterInBatches(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		const subjects = 30
		for i := range subjects {
			s := subject(fmt.Sprint(i), 40) // more events than one transaction replays
			for j := range s.Events {
				s.Events[j].CreatedAt = noon().Add(time.Duration(i) * time.Hour)
			}
			create(t, db, s)
			check(t, db.ExhaustEvents(t.Context(), s.ID, noon(), studio.ReasonOff))
		}
		due := db.NextDue(t, store.DeliverAt)
		if len(due) != 0 {
			t.Errorf("%d subjects are due after their events were exhausted", len(due))
		}
		for _, test := range []struct {
			filter studio.EventFilter
			want   int
		}{
			{studio.EventFilter{ID: "3-7"}, 1},
			{studio.EventFilter{ID: "3-7"}, 0}, // a pending event
			{studio.EventFilter{SubjectID: "3"}, 39},
			{studio.EventFilter{From: noon().Add(28 * time.Hour)}, 80},
			{studio.EventFilter{From: noon().Add(26 * time.Hour), To: noon().Add(29 * time.Hour)}, 80},
			{studio.EventFilter{}, subjects*40 - 200},
		} {
			replayed, err := db.Replay(t.Context(), test.filter, noon())
			check(t, err)
			if replayed != test.want {
				t.Errorf("%+v replays %d events, want %d", test.filter, replayed, test.want)
			}
		}
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
		finish(t, db, "a", store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonGone, SwitchOff: true})
		off("b")
		finish(t, db, "b", store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonGone, SwitchOff: true}) // an attempt that was in flight
		create(t, db, func() studio.Subject { s := subject("e", 1); s.Events[0].ID = "e-1"; return s }())
		endpoints, err := db.Endpoints(t.Context())
		check(t, err)
		want := []store.Endpoint{{
			UserID: "ada", Email: "ada@example.com", URL: "https://hooks.example.com/", Origin: "https://hooks.example.com",
			DisabledAt: noon(), Reason: studio.ReasonGone,
		}}
		if diff := cmp.Diff(want, endpoints); diff != "" {
			t.Errorf("endpoints (-want +got):\n%s", diff)
		}
		next := nextDelivery(t, db, "e")
		if !next.URLDisabled {
			t.Error("a new registration of the URL enables it")
		}
		wantError(t, db.EnableEndpoint(t.Context(), "bob", "https://hooks.example.com/"), studio.ErrNotFound)
		check(t, db.EnableEndpoint(t.Context(), "ada", "https://hooks.example.com/"))
		next = nextDelivery(t, db, "e")
		if next.URLDisabled {
			t.Error("an enabled URL is off")
		}
	})
}
