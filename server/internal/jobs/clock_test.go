package jobs_test

import (
	"context"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/jobs"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// wallClock is a clock that is set while it runs. Its times carry no monotonic reading, so what is
// kept in memory jumps too, which is the worst that can happen.
type wallClock struct {
	mu     sync.Mutex
	offset time.Duration
}

func (c *wallClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset).Round(0)
}

func (c *wallClock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// setSender is a Sender whose receiver answers what it is set to, and that tells the time by a clock.
type setSender struct {
	clock *wallClock
	sent  begins

	mu     sync.Mutex
	answer sender.Attempt
}

func (r *setSender) set(answer sender.Attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *setSender) Send(_ context.Context, message sender.Message) sender.Attempt {
	r.sent.add(message.URL)
	r.mu.Lock()
	defer r.mu.Unlock()
	attempt := r.answer
	attempt.At = r.clock.Now()
	return attempt
}

// workBy makes everything tell the time by a clock, and works for a while with the usual safety net.
// meanwhile runs beside.
func (s *setup) workBy(receiver *setSender, d time.Duration, meanwhile func()) {
	s.t.Helper()
	s.studio.Now = receiver.clock.Now
	cfg := s.limits
	cfg.Store, cfg.Studio, cfg.Sender, cfg.Renderer, cfg.Now = s.db, s.studio, receiver, s.renderer, receiver.clock.Now
	done := make(chan struct{})
	go func() {
		defer close(done)
		meanwhile()
	}()
	stop, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	newTrigger(jobs.New(cfg)).Run(stop, stop)
	<-done
}

const hook = "https://hooks.example.com/"

// Neither what waits for its next attempt nor what is created after the jump waits for the clock.
func TestLocal_aClockThatIsSetBackDelaysNothing(t *testing.T) {
	inBubble(t, func(s *setup) {
		const other = "https://other.example.com/"
		receiver := &setSender{clock: new(wallClock), answer: sender.Attempt{Failure: sender.FailureConnect}}
		s.createFor(hook)
		began := time.Now()
		var created time.Time
		s.workBy(receiver, 2*time.Hour, func() {
			time.Sleep(time.Second)
			receiver.clock.jump(-time.Hour)
			receiver.set(sender.Attempt{Status: 200})
			time.Sleep(10*time.Second + time.Millisecond)
			created = time.Now()
			s.createFor(other)
		})
		if at := receiver.sent.of(other); len(at) != 3 || at[2].Sub(created) > 100*time.Millisecond {
			s.t.Errorf("what is created at %v, after the jump, is sent at %v", created, at)
		}
		at := receiver.sent.of(hook)
		if len(at) != 4 {
			s.t.Fatalf("%d attempts, want one that fails and three", len(at))
		}
		// The first retry is due after 5 s.
		if last := at[3].Sub(began); last > 8*time.Second {
			s.t.Errorf("what was due before the jump is sent after %v", last)
		}
	})
}

// All that waits for its next try becomes due at once, is found by the next look that is taken for
// nothing, and comes at the rate of its origin.
func TestLocal_aClockThatIsSetForwardMakesNoStorm(t *testing.T) {
	inBubble(t, func(s *setup) {
		receiver := &setSender{clock: new(wallClock), answer: sender.Attempt{
			Status: 429, Failure: sender.FailureStatus, RetryAfter: time.Hour,
		}}
		s.limits.BreakAfter = 1 << 30 // the breaker would hold them back too
		events := max(500/fewer, 100)
		s.seed(events, hook)
		var jumped time.Time
		s.workBy(receiver, 12*time.Minute, func() {
			time.Sleep(10 * time.Minute)
			receiver.set(sender.Attempt{Status: 200})
			jumped = time.Now()
			receiver.clock.jump(time.Hour)
		})
		at := receiver.sent.of(hook)
		if len(at) != 2*events || at[events].Before(jumped) {
			s.t.Fatalf("%d attempts, want %d before the jump and as many after it", len(at), events)
		}
		at = at[events:]
		if last := at[events-1].Sub(jumped); last > time.Minute {
			s.t.Errorf("the last came %v after the jump", last)
		}
		for i := range len(at) - 61 {
			if at[i+61].Sub(at[i]) < time.Second {
				s.t.Fatalf("more than 60 attempts in the second after %v", at[i])
			}
		}
	})
}

// A clock of PostgreSQL's that is set back holds up neither what waits for its next attempt nor who takes
// over from a daemon that is gone.
func TestLanes_aClockThatIsSetBackDelaysNothing(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewPostgres(t)
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
	onRealTime(t, schema.ReplaceAllString(dsn, "search_path=$1,pg_catalog"), func(s *setup) {
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
			next, err := s.db.Deliveries(s.t.Context(), []store.Want{{Line: store.Line{UserID: s.user.ID, Origin: "https://hooks.example.com"}, Limit: 1}})
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
