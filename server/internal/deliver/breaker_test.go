package deliver_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/deliver"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// A circuit breaker that is open stays open when the process restarts.
func TestDeliverer_Run_openBreakerSurvivesARestart(t *testing.T) {
	onEachDatabase(t, func(s *fixture) {
		sent := new(attemptTimes)
		s.sender = senderFunc(func(context.Context, sender.Message) sender.Attempt {
			sent.add(hookURL)
			return sender.Attempt{Failure: sender.FailureConnect}
		})
		s.seed(30, hookURL)
		s.work(3 * time.Second)
		opened := len(sent.of(hookURL))
		if opened < 10 || opened > 13 {
			s.t.Fatalf("%d attempts are made before the breaker opens", opened)
		}
		s.work(20 * time.Second)
		if n := len(sent.of(hookURL)); n != opened {
			s.t.Errorf("%d attempts are made while the breaker is open", n-opened)
		}
		s.work(20 * time.Second)
		if n := len(sent.of(hookURL)); n != opened+1 {
			s.t.Errorf("%d attempts are made after 30 s, want one", n-opened)
		}
	})
}

// The limits of an origin do not grow with the number of daemons.
func TestPostgres_originLimitsHoldAcrossDaemons(t *testing.T) {
	t.Parallel()
	onRealPostgres(t, studiotest.NewPostgres(t), func(s *fixture) {
		const events, inFlight, rate = 100, 3, 50
		s.config = deliver.Config{InFlight: inFlight, Rate: rate}
		var mu sync.Mutex
		running, together := 0, 0
		sent := new(attemptTimes)
		s.sender = senderFunc(func(context.Context, sender.Message) sender.Attempt {
			mu.Lock()
			running++
			together = max(together, running)
			mu.Unlock()
			sent.add(hookURL)
			<-time.After(10 * time.Millisecond)
			mu.Lock()
			running--
			mu.Unlock()
			return sender.Attempt{Status: 200}
		})
		for range 3 {
			defer s.daemon()()
		}
		s.eventuallyTrue("all have lanes", `SELECT count(DISTINCT holder) = 3 FROM lanes`)
		for range events / 3 {
			s.create()
		}
		s.eventually("every event is delivered", func() bool { return len(sent.of(hookURL)) >= events/3*3 && s.pending() == 0 })
		if together > inFlight {
			s.t.Errorf("%d attempts are in flight, want %d", together, inFlight)
		}
		const most = rate*6/5 + inFlight // attempts in flight may have begun late
		at := sent.of(hookURL)
		for i := range len(at) - most {
			if at[i+most].Sub(at[i]) < time.Second {
				s.t.Fatalf("more than %d attempts in the second after %v", most, at[i])
			}
		}
	})
}
