package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// Each event of a user is on exactly one page of a matching list. Events of other users are on none.
func TestStore_Events_arePaginated(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		for _, user := range []string{"ada", "bob"} {
			check(t, db.CreateUser(t.Context(), studio.User{ID: user, Email: user + "@example.com", CreatedAt: noon()}))
		}
		states := []studio.EventState{studio.EventPending, studio.EventDelivered, studio.EventExhausted}
		for i := range 30 {
			s := subject(fmt.Sprintf("s%02d", i), 1)
			s.Events[0].CreatedAt = noon().Add(time.Duration(i/2) * time.Second)
			if i%5 == 0 {
				s.UserID = "bob"
			}
			created := try(db.CreateSubject(t.Context(), s, studio.IdempotencyKey{}))(t)
			if state := states[i%3]; state != studio.EventPending {
				check(t, recordAttempt(t.Context(), db, created.Events[0], studio.Attempt{At: noon()}, store.Outcome{State: state, Reason: studio.ReasonSchedule}))
			}
		}
		for state, want := range map[studio.EventState]int{"": 24, studio.EventPending: 8, studio.EventDelivered: 8, studio.EventExhausted: 8} {
			for _, order := range []studio.EventOrder{studio.NewestFirst, studio.OldestFirst} {
				filter := studio.EventFilter{UserID: "ada", State: state}
				var all []studio.EventRecord
				for more, after := true, (studio.Position{}); more; {
					var page []studio.EventRecord
					var err error
					page, more, err = db.Events(t.Context(), filter, order, after, 5)
					check(t, err)
					all = append(all, page...)
					after = studio.Position{CreatedAt: page[len(page)-1].CreatedAt, ID: page[len(page)-1].ID}
				}
				sorted := slices.IsSortedFunc(all, func(a, b studio.EventRecord) int {
					if order == studio.NewestFirst {
						return b.CreatedAt.Compare(a.CreatedAt)
					}
					return a.CreatedAt.Compare(b.CreatedAt)
				})
				other := func(e studio.EventRecord) bool { return e.UserID != "ada" || state != "" && e.State != state }
				if len(all) != want || !sorted || slices.ContainsFunc(all, other) {
					t.Errorf("%q, %s first: %+v, want %d events", state, order, all, want)
				}
			}
		}
	})
}

// An event has the title and the state of its subject, its latest attempt, and the time of the next one.
func TestStore_Events_showSubjectAndAttempts(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		s := subject("s", 2)
		s.Title = new("Greeting")
		create(t, db, s)
		later := noon().Add(time.Hour)
		want := func(when string, times [2]time.Time, last studio.Attempt) {
			t.Helper()
			events := studiotest.Events(t, db, studio.EventFilter{UserID: "ada"})
			for i, e := range events {
				if e.Kind != s.Kind || e.Title == nil || *e.Title != "Greeting" || e.Status != s.Status || !e.NextAt.Equal(times[i]) {
					t.Errorf("%s, event %d of %s %v (%s) is next tried at %v, want %v", when, i+1, e.Kind, e.Title, e.Status, e.NextAt, times[i])
				}
			}
			if diff := cmp.Diff(last, events[0].Last); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		first := s.Events[0]
		want("before", [2]time.Time{first.CreatedAt, {}}, studio.Attempt{})
		refused := studio.Attempt{At: noon(), Duration: time.Second, Address: "192.0.2.1:443", Status: 500, Failure: "status"}
		check(t, recordAttempt(t.Context(), db, first, refused, store.Outcome{State: studio.EventPending, RetryAt: later}))
		refused.Number = 1
		want("after a failure", [2]time.Time{later, {}}, refused)
		check(t, db.SaveBreaker(t.Context(), store.Breaker{Origin: studio.Origin(s.WebhookURL), Until: later.Add(time.Hour), Pause: time.Hour}))
		want("while the breaker is open", [2]time.Time{later.Add(time.Hour), {}}, refused)
		check(t, db.ForgetBreaker(t.Context(), studio.Origin(s.WebhookURL)))
		delivered := studio.Attempt{At: later, Status: 204}
		check(t, recordAttempt(t.Context(), db, first, delivered, store.Outcome{State: studio.EventDelivered}))
		delivered.Number = 2
		want("after the delivery", [2]time.Time{{}, later}, delivered)
	})
}
