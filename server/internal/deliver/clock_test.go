package deliver_test

import (
	"context"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// wallClock is a clock that a test sets while it runs. Its times have no monotonic reading, so times in
// memory jump too, which is the worst case.
type wallClock struct {
	mu     sync.Mutex
	offset time.Duration
}

func (c *wallClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset).Round(0)
}

func (c *wallClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// scriptedReceiver is a receiver whose answer the test sets. It takes the time from clock.
type scriptedReceiver struct {
	clock  wallClock
	sent   attemptTimes
	answer atomic.Pointer[sender.Attempt]
}

// workWithClock runs a runner for d with the clock of the receiver and the default rescan interval, and
// meanwhile concurrently.
func (s *fixture) workWithClock(r *scriptedReceiver, d time.Duration, meanwhile func()) {
	s.t.Helper()
	s.studio.Now, s.now, s.receiver.now, s.rescans = r.clock.Now, r.clock.Now, r.clock.Now, true
	s.receiver.answer = func(message sender.Message, _ int) sender.Attempt {
		r.sent.add(message.URL)
		return *r.answer.Load()
	}
	s.workWhile(d, meanwhile)
}

const hookURL = "https://hooks.example.com/"

// Neither a pending retry nor an event created after the clock was set back is late.
func TestSQLite_clockSetBackDelaysNoDelivery(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		const other = "https://other.example.com/"
		receiver := new(scriptedReceiver)
		receiver.answer.Store(&sender.Attempt{Failure: sender.FailureConnect})
		s.createFor(hookURL)
		began := time.Now()
		var created time.Time
		s.workWithClock(receiver, 2*time.Hour, func() {
			time.Sleep(time.Second)
			receiver.clock.advance(-time.Hour)
			receiver.answer.Store(&sender.Attempt{Status: 200})
			time.Sleep(10*time.Second + time.Millisecond)
			created = time.Now()
			s.createFor(other)
		})
		if at := receiver.sent.of(other); len(at) != 3 || at[2].Sub(created) > 100*time.Millisecond {
			s.t.Errorf("events created at %v, after the clock was set back, are sent at %v", created, at)
		}
		at := receiver.sent.of(hookURL)
		if len(at) != 4 {
			s.t.Fatalf("%d attempts, want one that fails and three", len(at))
		}
		// The first retry is due after 5 s.
		if last := at[3].Sub(began); last > 8*time.Second {
			s.t.Errorf("the retry that was pending when the clock was set back is sent after %v", last)
		}
	})
}

// Every pending retry becomes due at once. The next rescan finds them, and they are sent at the rate of
// their origin.
func TestSQLite_clockSetForwardKeepsTheRateLimit(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		receiver := new(scriptedReceiver)
		receiver.answer.Store(&sender.Attempt{Status: 429, Failure: sender.FailureStatus, RetryAfter: time.Hour})
		s.config.BreakAfter = 1 << 30 // an open breaker would delay the retries, too
		events := max(500/loadDivisor, 100)
		s.seed(events, hookURL)
		var jumped time.Time
		s.workWithClock(receiver, 12*time.Minute, func() {
			time.Sleep(10 * time.Minute)
			receiver.answer.Store(&sender.Attempt{Status: 200})
			jumped = time.Now()
			receiver.clock.advance(time.Hour)
		})
		at := receiver.sent.of(hookURL)
		if len(at) != 2*events || at[events].Before(jumped) {
			s.t.Fatalf("%d attempts, want %d before the jump and as many after it", len(at), events)
		}
		at = at[events:]
		if last := at[events-1].Sub(jumped); last > time.Minute {
			s.t.Errorf("the last attempt was made %v after the clock was set", last)
		}
		for i := range len(at) - 61 {
			if at[i+61].Sub(at[i]) < time.Second {
				s.t.Fatalf("more than 60 attempts in the second after %v", at[i])
			}
		}
	})
}

// A database clock that is set back delays neither a pending retry nor the takeover from a dead daemon.
func TestPostgres_clockSetBackDelaysNoDelivery(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewEmptyPostgres(t)
	schema := regexp.MustCompile(`search_path=(\w+)`)
	db := studiotest.OpenSQL(t, dsn)
	exec := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE TABLE clock (ahead INTERVAL NOT NULL)`)
	exec(`INSERT INTO clock VALUES ('1 hour')`)
	exec(`CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
		'SELECT pg_catalog.clock_timestamp() + (SELECT ahead FROM ` + schema.FindStringSubmatch(dsn)[1] + `.clock)'`)
	onRealPostgres(t, schema.ReplaceAllString(dsn, "search_path=$1,pg_catalog"), func(s *fixture) {
		failed, tried := make(chan struct{}), make(chan struct{}, 100)
		s.sender = senderFunc(func(context.Context, sender.Message) sender.Attempt {
			select {
			case <-failed:
				tried <- struct{}{}
				return sender.Attempt{Status: 200}
			default:
				close(failed)
				return sender.Attempt{Failure: sender.FailureConnect}
			}
		})
		gone := s.daemon()
		s.create()
		s.eventually("the attempt that failed is recorded", func() bool {
			next, err := s.db.Deliveries(s.t.Context(), []store.DeliveryQuery{{Flow: store.Flow{UserID: s.user.ID, Origin: "https://hooks.example.com"}, Limit: 1}})
			return err == nil && len(next[0]) == 1 && next[0][0].Tries == 1
		})
		exec(`UPDATE clock SET ahead = '0'`)
		s.eventually("every event is delivered", func() bool { return len(tried) >= 3 && s.pending() == 0 })
		gone()

		exec(`INSERT INTO holders (id, seen_at) VALUES ('gone', pg_catalog.clock_timestamp() + INTERVAL '1 hour')`)
		exec(`UPDATE lanes SET holder = 'gone'`)
		defer s.daemon()()
		s.create()
		s.eventually("what another had is taken over", func() bool { return len(tried) >= 6 && s.pending() == 0 })
	})
}
