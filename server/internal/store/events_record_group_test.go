package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// Concurrent records, more than fit into a group, are written once each. A record that cannot be written does
// not affect the others.
func TestStore_Record_writesConcurrentRecordsOnce(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		const n = 200
		for i := range n {
			create(t, db, subject(fmt.Sprint("subject ", i), 1))
		}
		var recording sync.WaitGroup
		for i := range n {
			recording.Go(func() {
				next, err := db.NextDelivery(t.Context(), fmt.Sprint("subject ", i))
				if err != nil {
					t.Error(err)
					return
				}
				if i == 0 {
					next.Event.ID = "nobody's"
				}
				err = recordAttempt(t.Context(), db, next.Event, store.Attempt{At: noon()}, store.Outcome{State: store.Delivered})
				if failed := err != nil; failed != (i == 0) {
					t.Errorf("record %d: %v", i, err)
				}
			})
		}
		recording.Wait()
		events, err := db.Events(t.Context(), store.EventFilter{State: store.Delivered}, "", 1000)
		check(t, err)
		if len(events) != n-1 {
			t.Errorf("%d events are delivered, want %d", len(events), n-1)
		}
		for _, event := range events {
			attempts, err := db.Attempts(t.Context(), event.ID)
			if len(attempts) != 1 || err != nil {
				t.Errorf("%d attempts of one (%v)", len(attempts), err)
			}
		}
	})
}
