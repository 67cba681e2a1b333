package jobs_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/jobs"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// A trigger that knows nothing of origins comes again when it is told to, and loses no attempt.
func TestDeliver_saysWhenToComeAgain(t *testing.T) {
	inBubble(t, func(s *setup) {
		const url = "https://hooks.example.com/"
		up := false
		s.sender = senderFunc(func(context.Context, sender.Message) sender.Attempt {
			if up {
				return sender.Attempt{Status: 200}
			}
			return sender.Attempt{Failure: sender.FailureConnect}
		})
		s.seed(20, url)
		work := jobs.New(jobs.Config{Store: s.db, Studio: s.studio, Sender: s.sender, Renderer: s.renderer})
		deliver := func(i int) (wait time.Duration, tries int) {
			id := fmt.Sprintf("%s %d", url, i)
			again, err := work.Deliver(s.t.Context(), s.t.Context(), id)
			if err != nil {
				s.t.Fatal(err)
			}
			if again.IsZero() {
				return 0, 0
			}
			next, err := s.db.NextDelivery(s.t.Context(), id)
			if err != nil {
				s.t.Fatal(err)
			}
			return time.Until(again), next.Tries
		}
		for i := 1; i <= 10; i++ {
			if wait, tries := deliver(i); tries != 1 || wait < 4*time.Second || wait > 6*time.Second {
				s.t.Errorf("event %d comes again in %v after %d tries, want about 5 s after one", i, wait, tries)
			}
		}
		last := 30 * time.Second // the breaker is open
		for i := 11; i <= 20; i++ {
			wait, tries := deliver(i)
			if tries != 0 || wait <= last || wait > 31*time.Second {
				s.t.Errorf("event %d comes again in %v after %d tries, the one before in %v", i, wait, tries, last)
			}
			last = wait
		}
		up = true
		time.Sleep(31 * time.Second)
		if wait, tries := deliver(11); wait != 0 || tries != 0 {
			s.t.Errorf("a delivered event comes again in %v", wait)
		}
	})
}
