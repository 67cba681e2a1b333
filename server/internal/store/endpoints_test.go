package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Each URL is listed once, with its switch-off reason, its circuit breaker and its latest attempt.
func TestStore_Endpoints_listsEachURLOnce(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		for i := range 20 {
			s := subject(fmt.Sprintf("s%02d", i), 1)
			s.WebhookURL = fmt.Sprintf("https://hooks%d.example.com/", i%4)
			create(t, db, s)
			for attempt := range i % 4 {
				failed := studio.Attempt{At: noon().Add(time.Duration(attempt-i) * time.Second), Status: 500 + attempt, Failure: "status"}
				check(t, recordAttempt(t.Context(), db, s.Events[0], failed, store.Outcome{State: studio.EventPending, RetryAt: noon()}))
			}
		}
		check(t, db.SaveBreaker(t.Context(), store.Breaker{Origin: "https://hooks2.example.com", Until: noon(), Pause: time.Second}))
		first, more, err := db.Endpoints(t.Context(), "ada", "", 3)
		check(t, err)
		second, last, err := db.Endpoints(t.Context(), "ada", first[2].SubjectID, 3)
		check(t, err)
		if !more || last || len(first) != 3 || len(second) != 1 {
			t.Errorf("pages of %d and %d endpoints", len(first), len(second))
		}
		for i, r := range append(first, second...) {
			if r.URL != fmt.Sprintf("https://hooks%d.example.com/", i) || r.OpenUntil.IsZero() != (i != 2) || r.DisabledReason != "" || r.Waiting != 5 {
				t.Errorf("%d. %+v", i, r)
			}
			if want := 499 + i; i > 0 && r.Last.Status != want || r.Last.At.IsZero() != (i == 0) {
				t.Errorf("%d. the latest attempt is %+v, want status %d", i, r.Last, want)
			}
		}
		_, _, err = db.Endpoints(t.Context(), "bob", first[2].SubjectID, 3)
		wantError(t, err, studio.ErrCursor)
	})
}

// Operators see the endpoints of all users in pages, and those with trouble first.
func TestStore_AllEndpoints_areThoseOfEveryUser(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		check(t, db.CreateUser(t.Context(), studio.User{ID: "bob", Email: "bob@example.com", CreatedAt: noon()}))
		check(t, db.CreateUser(t.Context(), studio.User{ID: "eve", Email: "eve@example.com", CreatedAt: noon()}))
		failed := studio.Attempt{At: noon(), Status: 500, Failure: "status"}
		for i, outcome := range []store.Outcome{
			{},
			{State: studio.EventExhausted, Reason: studio.ReasonGone, DisableURL: true},
			{State: studio.EventPending, RetryAt: noon()},
			{State: studio.EventExhausted, Reason: studio.ReasonSchedule},
			{},
			{State: studio.EventPending, RetryAt: noon()},
		} {
			s := subject(fmt.Sprint(i), 1)
			s.UserID, s.WebhookURL = []string{"ada", "eve"}[i%2], fmt.Sprintf("https://hooks.example.com/%d", i/4)
			create(t, db, s)
			if outcome.State != "" {
				check(t, recordAttempt(t.Context(), db, s.Events[0], failed, outcome))
			}
		}
		check(t, db.PauseEndpoint(t.Context(), "ada", "https://hooks.example.com/1", noon()))
		line := func(e studio.Endpoint) string {
			return fmt.Sprintf("%s %s: %d waiting, %d exhausted, %s", e.Email, e.URL[len(e.URL)-1:], e.Waiting, e.Exhausted, e.DisabledReason)
		}
		want := []string{
			"ada@example.com 0: 2 waiting, 0 exhausted, ", "ada@example.com 1: 1 waiting, 0 exhausted, ",
			"eve@example.com 0: 0 waiting, 2 exhausted, gone", "eve@example.com 1: 1 waiting, 0 exhausted, ",
		}
		for limit := 1; limit <= 4; limit++ {
			var got []string
			for after, more := "", true; more; {
				var page []studio.Endpoint
				var err error
				page, more, err = db.AllEndpoints(t.Context(), after, limit)
				check(t, err)
				for _, e := range page {
					got, after = append(got, line(e)), e.SubjectID
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pages of %d (-want +got):\n%s", limit, diff)
			}
		}
		_, _, err := db.AllEndpoints(t.Context(), "unknown", 1)
		wantError(t, err, studio.ErrCursor)
		for limit := range 5 {
			troubled, err := db.TroubledEndpoints(t.Context(), limit)
			check(t, err)
			if len(troubled) != limit {
				t.Errorf("%d endpoints have trouble, want %d", len(troubled), limit)
			}
			if limit == 2 && (troubled[0].Email != "ada@example.com" || troubled[0].Last.Failure == "" || line(troubled[1]) != want[3]) {
				t.Errorf("the first with trouble are %+v", troubled)
			}
		}
	})
}

// An endpoint counts its waiting and exhausted events. Its failure began after the last delivery, also if its newest subjects
// are younger than that.
func TestStore_Endpoint_showsAnOutage(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		at := func(minutes int) time.Time { return noon().Add(time.Duration(minutes) * time.Minute) }
		for i := range 40 {
			s := subject(fmt.Sprintf("s%02d", i), 2)
			s.Events[0].CreatedAt, s.Events[1].CreatedAt = at(i), at(i)
			create(t, db, s)
			attempt := studio.Attempt{At: at(i), Duration: time.Second, Status: 204}
			outcome := store.Outcome{State: studio.EventDelivered}
			switch {
			case i >= 11:
				attempt.Status, attempt.Failure, outcome = 500, "status", store.Outcome{State: studio.EventPending, RetryAt: at(60)}
			case i == 10:
				attempt.Status, attempt.Failure, outcome = 400, "status", store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonRefused}
			}
			check(t, recordAttempt(t.Context(), db, nextDelivery(t, db, s.ID).Event, attempt, outcome))
		}
		check(t, deleteSubject(t, db, studio.Avatar, "s39", noon()))
		check(t, db.ExhaustEvents(t.Context(), "s12", at(41), studio.ReasonSchedule))
		want := studio.Endpoint{
			UserID: "ada", Email: "ada@example.com", URL: "https://hooks.example.com/", SubjectID: "s39", Waiting: 11 + 27*2, Exhausted: 1 + 2, LastSuccessAt: at(9).Add(time.Second),
			Last: studio.Attempt{Number: 1, At: at(39), Duration: time.Second, Status: 500, Failure: "status"},
		}
		got, err := db.Endpoint(t.Context(), "ada", want.URL)
		check(t, err)
		if got.FailingSince.Before(at(10)) || got.FailingSince.After(at(12)) {
			t.Errorf("failing since %v", got.FailingSince)
		}
		got.FailingSince = time.Time{}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("endpoint (-want +got):\n%s", diff)
		}
		_, err = db.Endpoint(t.Context(), "ada", "https://hooks.example.com")
		wantError(t, err, studio.ErrNotFound)
		_, err = db.Endpoint(t.Context(), "bob", want.URL)
		wantError(t, err, studio.ErrNotFound)
	})
}

// An outage goes on when its first event is exhausted and the next one fails.
func TestStore_Endpoint_countsExhaustedEventsAsAnOutage(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		create(t, db, subject("a", 2))
		for hour, outcome := range []store.Outcome{
			{State: studio.EventExhausted, Reason: studio.ReasonSchedule}, {State: studio.EventPending, RetryAt: noon()},
		} {
			failed := studio.Attempt{At: noon().Add(time.Duration(hour) * time.Hour), Failure: "connect"}
			check(t, recordAttempt(t.Context(), db, nextDelivery(t, db, "a").Event, failed, outcome))
		}
		got, err := db.Endpoint(t.Context(), "ada", "https://hooks.example.com/")
		check(t, err)
		if !got.FailingSince.Equal(noon()) {
			t.Errorf("failing since %v, want %v", got.FailingSince, noon())
		}
	})
}

// A replay of delivered events forgets no success. A failure counts from its attempt, not from an earlier one of the event.
func TestStore_Endpoint_keepsTheLastSuccessDuringAReplay(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		at := func(minutes int) time.Time { return noon().Add(time.Duration(minutes) * time.Minute) }
		create(t, db, subject("a", 1))
		attempt := func(minute int, failure string, outcome store.Outcome) {
			attempt := studio.Attempt{At: at(minute), Duration: time.Second, Failure: failure}
			check(t, recordAttempt(t.Context(), db, nextDelivery(t, db, "a").Event, attempt, outcome))
		}
		wantTimes := func(success, failing time.Time) {
			t.Helper()
			got, err := db.Endpoint(t.Context(), "ada", "https://hooks.example.com/")
			check(t, err)
			if !got.LastSuccessAt.Equal(success) || !got.FailingSince.Equal(failing) {
				t.Errorf("last success %v, failing since %v; want %v and %v", got.LastSuccessAt, got.FailingSince, success, failing)
			}
		}
		attempt(1, "status", store.Outcome{State: studio.EventPending, RetryAt: at(2)})
		wantTimes(time.Time{}, at(1))
		success := at(2).Add(time.Second)
		attempt(2, "", store.Outcome{State: studio.EventDelivered})
		wantTimes(success, time.Time{})
		selection := studio.ReplaySelection{EventIDs: []string{"a-1"}, States: []studio.EventState{studio.EventDelivered}}
		if n := replay(t, db, selection, at(3)); n != 1 {
			t.Errorf("%d events are replayed", n)
		}
		wantTimes(success, time.Time{})
		attempt(4, "status", store.Outcome{State: studio.EventPending, RetryAt: at(5)})
		wantTimes(success, at(4))
		attempt(5, "status", store.Outcome{State: studio.EventPending, RetryAt: at(6)})
		wantTimes(success, at(4))
	})
}
