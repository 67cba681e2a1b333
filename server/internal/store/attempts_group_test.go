package store_test

import (
	"fmt"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// Concurrent attempts, more than fit into a group, are written once each. An attempt that cannot be written does
// not affect the others.
func TestStore_Record_writesConcurrentRecordsOnce(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		const n = 200
		for i := range n {
			create(t, db, subject(fmt.Sprint("subject ", i), 1))
		}
		concurrently(repeat(n, func(i int) {
			event := subject(fmt.Sprint("subject ", i), 1).Events[0]
			if i == 0 {
				event.ID = "nobody's"
			}
			err := recordAttempt(t.Context(), db, event, studio.Attempt{At: noon()}, store.Outcome{State: studio.EventDelivered})
			if failed := err != nil; failed != (i == 0) {
				t.Errorf("attempt %d: %v", i, err)
			}
		})...)
		events := studiotest.Events(t, db, studio.EventFilter{State: studio.EventDelivered})
		if len(events) != n-1 {
			t.Errorf("%d events are delivered, want %d", len(events), n-1)
		}
		for _, event := range events {
			if attempts := attemptsOf(t, db, event.ID); len(attempts) != 1 {
				t.Errorf("%d attempts of one", len(attempts))
			}
		}
	})
}

// An attempt gets the next number of its event, whichever number its caller expects, and all earlier attempts are kept.
func TestStore_Record_numbersAttempts(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		create(t, db, subject("a", 1))
		next := nextDelivery(t, db, "a")
		if none := attemptsOf(t, db, next.Event.ID); len(none) > 0 {
			t.Errorf("before the first attempt there are %+v", none)
		}
		for i, expected := range []int{1, 1, 3, 0, 9} {
			attempt := studio.Attempt{Number: expected, At: noon(), Status: 500 + i, Excerpt: []byte{byte(i)}}
			check(t, recordAttempt(t.Context(), db, next.Event, attempt, store.Outcome{State: studio.EventPending, RetryAt: noon()}))
		}
		attempts := attemptsOf(t, db, next.Event.ID)
		for i, a := range attempts {
			if a.Number != i+1 || a.Status != 500+i || string(a.Excerpt) != string(rune(i)) {
				t.Errorf("attempt %d is %+v", i+1, a)
			}
		}
		if next = nextDelivery(t, db, "a"); len(attempts) != 5 || next.Attempts != 5 || next.Tries != 5 {
			t.Errorf("%d attempts, %d counted, %d tries", len(attempts), next.Attempts, next.Tries)
		}
		wantConsistent(t, db)
	})
}
