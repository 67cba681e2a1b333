package jobs_test

import (
	"context"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// What is deleted is not announced any more, although it was read for an attempt.
func TestTrigger_sendsNothingOfWhatWasDeletedBeforeItsAttempt(t *testing.T) {
	onEachTrigger(t, func(s *setup) {
		const url, others = "https://hooks.example.com/", 4
		holding := make(chan struct{}, others)
		sent := make(chan string, 100)
		s.sender = senderFunc(func(_ context.Context, message sender.Message) sender.Attempt {
			if len(holding) < cap(holding) {
				holding <- struct{}{}
				time.Sleep(200 * time.Millisecond)
			}
			sent <- message.ID
			return sender.Attempt{Status: 200}
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.seed(others, url)
			time.Sleep(10 * time.Millisecond)
			victim := s.createFor(url)
			time.Sleep(50 * time.Millisecond) // read, and waiting for its turn
			if err := s.studio.Delete(s.t.Context(), s.user.ID, studio.Avatar, victim.ID); err != nil {
				s.t.Error(err)
			}
		}()
		s.work(10 * time.Second)
		<-done
		if len(sent) != others {
			s.t.Errorf("%d events are sent, want those of the %d others", len(sent), others)
		}
	})
}
