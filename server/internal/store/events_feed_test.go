package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A reader that continues after the last event it has read gets every event of a user once, and those of a subject in
// order, while processes with different clocks write and lose their connections.
func TestStore_NewEvents_missesNoEvent(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "soak reads streams, too")
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		db := memstore.New()
		wantSeen(t, db, followEvents(t, func() {}, db))
	})
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		processes, cut, stop := []studio.Store{studiotest.Open(t, dsn)}, func() {}, func() {}
		if strings.HasPrefix(dsn, "postgres") {
			processes = append(processes, studiotest.Open(t, dsn), studiotest.Open(t, dsn))
			cut = func() { stop = cutConnections(t, dsn) }
		}
		seen := followEvents(t, cut, processes...)
		stop()
		db := studiotest.Open(t, dsn)
		wantSeen(t, db, seen)
		wantConsistent(t, db)
	})
}

// cutConnections ends connections to a database at random, until stop is called. It then reports deadlocks.
func cutConnections(t *testing.T, dsn string) (stop func()) {
	db := studiotest.OpenSQL(t, dsn)
	var stopped atomic.Bool
	var cutting sync.WaitGroup
	cutting.Go(func() {
		for !stopped.Load() {
			_, _ = db.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid), pg_sleep(0.05) FROM (SELECT pid FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1) one`)
		}
	})
	return func() {
		stopped.Store(true)
		cutting.Wait()
		var deadlocks int
		check(t, db.QueryRowContext(t.Context(), `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`).Scan(&deadlocks))
		if deadlocks > 0 {
			t.Errorf("%d deadlocks", deadlocks)
		}
	}
}

// followEvents creates two users and calls begin. Then it reads their events while callers of several processes create,
// change and delete subjects. It returns the IDs of the events of each user, as they were read.
func followEvents(t *testing.T, begin func(), processes ...studio.Store) map[string][]string {
	t.Helper()
	users, seen := []string{"ada", "bob"}, make([][]string, 2)
	for _, id := range users {
		check(t, processes[0].CreateUser(t.Context(), user(id)))
	}
	begin()
	var writing, reading sync.WaitGroup
	written := make(chan struct{})
	for caller := range 8 {
		writing.Go(func() {
			db := processes[caller%len(processes)]
			for i := range 25 {
				writeSubject(t.Context(), db, fmt.Sprintf("%d-%d", caller, i), users[i%2])
			}
		})
	}
	for i, id := range users {
		reading.Go(func() {
			var last time.Time
			for ended := false; !ended; {
				select {
				case <-written:
					ended = true // after the events that are left
				default:
				}
				for more := true; more; {
					read, err := processes[len(processes)-1].NewEvents(t.Context(), id, last, 5)
					if more = err != nil && ended || err == nil && len(read) > 0; err != nil {
						continue // its connection was cut
					}
					for _, event := range read {
						seen[i], last = append(seen[i], event.ID), event.CreatedAt
					}
				}
			}
		})
	}
	writing.Wait()
	close(written)
	reading.Wait()
	return map[string][]string{users[0]: seen[0], users[1]: seen[1]}
}

// writeSubject creates a subject, changes it twice and perhaps deletes it. Each process has its own clock, and may
// fail.
func writeSubject(ctx context.Context, db studio.Store, id, userID string) {
	at := func() time.Time { return noon().Add(time.Duration(rand.IntN(2000)) * time.Millisecond) }
	s := subject(id, 1)
	s.UserID, s.Events[0].CreatedAt = userID, at()
	if rand.IntN(3) == 0 {
		s.WebhookURL = ""
	}
	_, _ = db.CreateSubject(ctx, s, studio.IdempotencyKey{})
	for range 2 {
		_, _ = db.UpdateSubject(ctx, id, func(s *studio.Subject) error {
			event(s)
			s.Events[0].CreatedAt = at()
			return nil
		})
	}
	if rand.IntN(4) == 0 {
		_, _ = db.DeleteSubject(ctx, userID, "", s.Kind, id, noon(), noon())
	}
}

// wantSeen reports events that the readers of users have missed, or seen twice or in another order. Those whose
// subjects were deleted may be missing.
func wantSeen(t *testing.T, db studio.EventStore, readers map[string][]string) {
	t.Helper()
	for userID, seen := range readers {
		var want []string
		var last time.Time
		sequences := make(map[string]int64)
		for _, event := range studiotest.Events(t, db, studio.EventFilter{UserID: userID}) {
			if event.Reason != studio.ReasonDeleted || slices.Contains(seen, event.ID) {
				want = append(want, event.ID)
			}
			if !event.CreatedAt.After(last) {
				t.Errorf("event %s is at %v, after %v", event.ID, event.CreatedAt, last)
			}
			last = event.CreatedAt
			if sequences[event.SubjectID]++; event.Sequence != sequences[event.SubjectID] {
				t.Errorf("event %s is number %d of its subject", event.ID, sequences[event.SubjectID])
			}
		}
		if !slices.Equal(seen, want) || len(want) < 100 {
			t.Errorf("%d events were seen, want %d:\n%v\n%v", len(seen), len(want), seen, want)
		}
	}
}

// A process learns at once for which users it has added events.
func TestStore_OnEvents_tellsOfCommittedEvents(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		var told []string
		db.OnEvents(func(userIDs []string) { told = append(told, userIDs...) })
		create(t, db, subject("a", 1))
		create(t, db, subject("silent", 0))
		if !slices.Equal(told, []string{"ada"}) {
			t.Errorf("told of %v, want ada", told)
		}
	})
}
