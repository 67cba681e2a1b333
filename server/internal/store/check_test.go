package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func wantConsistent(t *testing.T, db *store.Store) {
	t.Helper()
	broken := try(db.Check(t.Context()))(t)
	for _, rule := range broken {
		t.Error(rule)
	}
}

// attemptsOf returns the attempts to deliver an event.
func attemptsOf(t *testing.T, db studio.EventStore, eventID string) []studio.Attempt {
	t.Helper()
	all := try(db.Attempts(t.Context(), eventID))(t)
	return all[eventID]
}

// A daemon that was frozen records its attempt after another daemon has delivered the event. The next event keeps its
// own due time.
func TestStore_Record_ofAnEndedEventOnlyAddsTheAttempt(t *testing.T) {
	t.Parallel()
	retry := store.Outcome{State: studio.EventPending, RetryAt: noon().Add(time.Hour)}
	for name, late := range map[string]store.Outcome{
		"failed": retry, "delivered": {State: studio.EventDelivered}, "given up": {State: studio.EventExhausted, Reason: studio.ReasonRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withUser(t, func(t *testing.T, db *store.Store) {
				create(t, db, subject("a", 2))
				attempt := studio.Attempt{At: noon(), Duration: time.Second}
				for range 2 {
					next := nextDelivery(t, db, "a")
					for _, outcome := range []store.Outcome{{State: studio.EventDelivered}, late} {
						check(t, recordAttempt(t.Context(), db, next.Event, attempt, outcome))
						wantConsistent(t, db)
					}
					event := try(db.Event(t.Context(), next.Event.ID))(t)
					attempts := attemptsOf(t, db, event.ID)
					if event.State != studio.EventDelivered || event.Tries != 1 || len(attempts) != 2 || next.DueAt.Sub(noon()) > time.Second {
						t.Errorf("event %d is %s after %d tries with %d attempts, due at %v", event.Sequence, event.State, event.Tries, len(attempts), next.DueAt)
					}
				}
				due := db.NextDue(t, store.DeliverAt)
				if len(due) > 0 {
					t.Errorf("due is %v, with no pending event", due)
				}
			})
		})
	}
}

// The pages of a check are all rows together: also those of a subject that does not exist, before or after all others.
func TestStore_Check_findsTheSameInAnyPages(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			create(t, db, subject(id, 2))
		}
		db.Exec(
			t, `DELETE FROM deliveries WHERE subject_id IN ('b', 'e')`, `DELETE FROM events WHERE subject_id = 'c' AND sequence = 1`,
			`UPDATE events SET state = 'delivered' WHERE id = 'd-1'`, `UPDATE events SET subject_id = 'f' WHERE id = 'd-2'`,
			`UPDATE events SET subject_id = '0' WHERE id = 'a-2'`, `UPDATE events SET last_number = 2 WHERE id = 'e-1'`,
		)
		all := func(rows int) (found []string) {
			violations := try(db.CheckPages(t.Context(), rows))(t)
			for _, v := range violations {
				found = append(found, v.String())
			}
			slices.Sort(found)
			return found
		}
		want := all(1000)
		if len(want) < 10 || !slices.Contains(want, "subject f has events but does not exist") || !slices.Contains(want, "subject 0 has events but does not exist") {
			t.Errorf("the violations are %q", want)
		}
		for rows := range 6 {
			if got := all(rows + 1); !slices.Equal(got, want) {
				t.Errorf("in pages of %d, the violations are %q, want %q", rows+1, got, want)
			}
		}
	})
}
