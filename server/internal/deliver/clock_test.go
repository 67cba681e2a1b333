package deliver_test

import (
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// useClock makes the fixture use a clock that a test sets while a process runs. Its times have no monotonic reading, so
// times in memory jump too, which is the worst case. The process rescans as often as by default.
func (s *fixture) useClock() (advance func(time.Duration)) {
	var offset atomic.Int64
	s.now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())).Round(0) }
	s.studio.Now, s.receiver.now, s.rescans, s.upkeep = s.now, s.now, true, true
	return func(d time.Duration) { offset.Add(int64(d)) }
}

// Neither a pending retry nor an event created after the clock was set back is late.
func TestSQLite_clockSetBackDelaysNoDelivery(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		const other = "https://other.example.com/"
		var accepts atomic.Bool
		s.receiver.answer = func(sender.Message, int) sender.Attempt {
			if accepts.Load() {
				return sender.Attempt{Status: 200}
			}
			return sender.Attempt{Failure: sender.FailureConnect}
		}
		advance := s.useClock()
		s.create()
		began := time.Now()
		s.workWhile(time.Minute, func() {
			time.Sleep(time.Second)
			advance(-time.Hour)
			accepts.Store(true)
			time.Sleep(10*time.Second + time.Millisecond)
			s.wantSoon(other)
		})
		// The first retry is due after 5 s.
		if at := s.receiver.times(hookURL); len(at) != 4 || at[3].Sub(began) > 8*time.Second {
			s.t.Errorf("attempts at %v, want one that fails, and three soon after the clock was set back", at)
		}
	})
}

// Every pending retry becomes due at once. The next rescan finds them, and they are sent at the rate of
// their origin.
func TestSQLite_clockSetForwardKeepsTheRateLimit(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		const events = 100
		var jumped atomic.Pointer[time.Time]
		s.receiver.answer = func(sender.Message, int) sender.Attempt {
			if jumped.Load() != nil {
				return sender.Attempt{Status: 200}
			}
			return sender.Attempt{Status: 429, Failure: sender.FailureStatus, RetryAfter: time.Hour}
		}
		advance := s.useClock()
		s.config.BreakAfter = 1 << 30 // an open breaker would delay the retries, too
		s.seed(events, hookURL)
		s.workWhile(12*time.Minute, func() {
			time.Sleep(10 * time.Minute)
			jumped.Store(new(time.Now()))
			advance(time.Hour)
		})
		at := s.receiver.times(hookURL)
		if len(at) != 2*events || at[events].Before(*jumped.Load()) {
			s.t.Fatalf("%d attempts, want %d before the jump and as many after it", len(at), events)
		}
		at = at[events:]
		if last := at[events-1].Sub(*jumped.Load()); last > time.Minute {
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
		try(db.ExecContext(t.Context(), statement))(t)
	}
	exec(`CREATE TABLE clock (ahead INTERVAL NOT NULL)`)
	exec(`INSERT INTO clock VALUES ('1 hour')`)
	exec(`CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
		'SELECT pg_catalog.clock_timestamp() + (SELECT ahead FROM ` + schema.FindStringSubmatch(dsn)[1] + `.clock)'`)
	onRealPostgres(t, schema.ReplaceAllString(dsn, "search_path=$1,pg_catalog"), func(s *fixture) {
		var tried atomic.Int64
		s.receiver.answer = func(sender.Message, int) sender.Attempt {
			if tried.Add(1) == 1 {
				return sender.Attempt{Failure: sender.FailureConnect}
			}
			return sender.Attempt{Status: 200}
		}
		s.upkeep = true
		gone := s.daemon()
		s.create()
		s.eventually("the attempt that failed is recorded", func() bool { return s.nextDelivery().Tries == 1 })
		exec(`UPDATE clock SET ahead = '0'`)
		s.eventually("every event is delivered", func() bool { return tried.Load() >= 4 && s.pending() == 0 })
		gone()

		exec(`INSERT INTO holders (id, seen_at, leaving) VALUES ('gone', pg_catalog.clock_timestamp() + INTERVAL '1 hour', FALSE)`)
		exec(`UPDATE lanes SET holder = 'gone'`)
		defer s.daemon()()
		s.create()
		s.eventually("what another had is taken over", func() bool { return tried.Load() >= 7 && s.pending() == 0 })
	})
}
