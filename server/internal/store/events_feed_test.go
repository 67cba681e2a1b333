package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// A reader that continues after the last event it has read gets every event of a user once, and those of a subject in
// order, while processes with different clocks write and lose their connections.
func TestStore_NewEvents_missesNoEvent(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		followEvents(t, memstore.New())
	})
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		processes, connections := []studio.Store{studiotest.Open(t, dsn)}, func() {}
		if strings.HasPrefix(dsn, "postgres") {
			processes = append(processes, studiotest.Open(t, dsn), studiotest.Open(t, dsn))
			connections = cutConnections(t, dsn)
		}
		followEvents(t, processes...)
		connections()
		wantConsistent(t, processes[0].(*store.Store))
	})
}

// cutConnections ends connections to a database at random, until stop is called. It then reports deadlocks.
func cutConnections(t *testing.T, dsn string) (stop func()) {
	db := studiotest.OpenSQL(t, dsn)
	ctx, cancel := context.WithCancel(t.Context())
	var cutting sync.WaitGroup
	cutting.Go(func() {
		for ctx.Err() == nil {
			_, _ = db.ExecContext(ctx, `SELECT pg_terminate_backend(pid), pg_sleep(0.05) FROM (SELECT pid FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1) one`)
		}
	})
	return func() {
		cancel()
		cutting.Wait()
		var deadlocks int
		check(t, db.QueryRowContext(t.Context(), `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`).Scan(&deadlocks))
		if deadlocks > 0 {
			t.Errorf("%d deadlocks", deadlocks)
		}
	}
}

// followEvents reads the events of two users while several callers of processes create, change and delete subjects.
func followEvents(t *testing.T, processes ...studio.Store) {
	t.Helper()
	users := []string{"ada", "bob"}
	for _, id := range users {
		check(t, processes[0].CreateUser(t.Context(), user(id)))
	}
	var writing, reading sync.WaitGroup
	written := make(chan struct{})
	for caller := range 16 {
		writing.Go(func() {
			db := processes[caller%len(processes)]
			for i := range 25 {
				writeSubject(t.Context(), db, fmt.Sprintf("%d-%d", caller, i), users[i%2])
			}
		})
	}
	for _, id := range users {
		reading.Go(func() {
			var seen []string
			var last time.Time
			for ended := false; !ended; {
				select {
				case <-written:
					ended = true // after the events that are left
				default:
				}
				for more := true; more; {
					read, err := processes[len(processes)-1].NewEvents(t.Context(), []studio.FeedQuery{{UserID: id, After: last, Limit: 5}})
					if more = err != nil && ended || err == nil && len(read[0]) > 0; err != nil {
						continue // its connection was cut
					}
					for _, event := range read[0] {
						seen, last = append(seen, event.ID), event.CreatedAt
					}
				}
			}
			wantSeen(t, seen, studiotest.Events(t, processes[0], studio.EventFilter{UserID: id}))
		})
	}
	writing.Wait()
	close(written)
	reading.Wait()
}

// writeSubject creates a subject, changes it twice and perhaps deletes it. Each process has its own clock, and may fail.
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
		_, _ = db.DeleteSubject(ctx, userID, s.Kind, id, noon(), noon())
	}
}

// wantSeen reports what a reader of a user's events has missed, or seen twice or in another order. Events whose subjects
// were deleted may be among them.
func wantSeen(t *testing.T, seen []string, all []studio.EventRecord) {
	t.Helper()
	var want []string
	sequences := make(map[string]int64)
	for i, event := range all {
		if event.Reason != studio.ReasonDeleted || slices.Contains(seen, event.ID) {
			want = append(want, event.ID)
		}
		if i > 0 && !event.CreatedAt.After(all[i-1].CreatedAt) {
			t.Errorf("event %s is at %v, after %v", event.ID, event.CreatedAt, all[i-1].CreatedAt)
		}
		if sequences[event.SubjectID]++; event.Sequence != sequences[event.SubjectID] {
			t.Errorf("event %s is number %d of its subject", event.ID, sequences[event.SubjectID])
		}
	}
	if !slices.Equal(seen, want) || len(want) < 100 {
		t.Errorf("%d events were seen, want %d:\n%v\n%v", len(seen), len(want), seen, want)
	}
}

// A process that watches learns the users with new events, those of other processes, too.
func TestStore_WatchEvents_reportsUsers(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		db := studiotest.Open(t, dsn)
		processes := []*store.Store{db}
		if db.Shared() {
			processes = append(processes, studiotest.Open(t, dsn))
		}
		for _, process := range processes {
			listen(t, process)
		}
		check(t, db.CreateUser(t.Context(), user("ada")))
		create(t, db, subject("early", 1))
		if users := db.TakeChangedUsers(); len(users) > 0 {
			t.Errorf("%v have changed before the watch", users)
		}
		check(t, db.WatchEvents(t.Context()))
		for i, process := range processes {
			n := 0
			harness.Eventually(t, "a process that knows of the watch reports the user", func() bool {
				n++
				create(t, process, subject(fmt.Sprintf("%d-%d", i, n), 1))
				select {
				case <-db.EventSignal():
					return true
				default:
					return false
				}
			})
			if users := db.TakeChangedUsers(); !slices.Equal(users, []string{"ada"}) {
				t.Errorf("changed are %v, want ada", users)
			}
		}
	})
}

// listen makes a process on PostgreSQL listen until the end of the test.
func listen(t *testing.T, db *store.Store) {
	t.Helper()
	if !db.Shared() {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = db.Listen(ctx, store.NotificationHandler{Ready: func() { close(ready) }})
	}()
	<-ready
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}
