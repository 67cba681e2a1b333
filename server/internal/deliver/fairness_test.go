package deliver_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// loadDivisor reduces the load of the larger tests in the short form, and under the race detector, which makes SQLite
// very slow.
var loadDivisor = 1

// senderFunc is a Sender that calls a function.
type senderFunc func(ctx context.Context, message sender.Message) sender.Attempt

func (f senderFunc) Send(ctx context.Context, message sender.Message) sender.Attempt {
	at := time.Now()
	attempt := f(ctx, message)
	attempt.At, attempt.Duration = at, time.Since(at)
	return attempt
}

// attemptTimes records when attempts began, by URL. It is safe for concurrent use.
type attemptTimes struct {
	mu  sync.Mutex
	all map[string][]time.Time
}

func (b *attemptTimes) add(url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = make(map[string][]time.Time)
	}
	b.all[url] = append(b.all[url], time.Now())
}

func (b *attemptTimes) of(url string) []time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.all[url])
}

func (s *fixture) seed(events int, urls ...string) {
	s.t.Helper()
	seed(s.t, s.dsn, s.user.ID, events, urls...)
}

// urls returns the URLs of receivers, each with an origin of its own.
func urls(receivers int) (all []string) {
	for i := range receivers {
		all = append(all, fmt.Sprintf("https://%d.example.com/", i))
	}
	return all
}

const hungURL = "https://hung.example.com/"

// hangingSender returns a Sender for which the receiver at hungURL times out and all others answer.
func hangingSender(sent *attemptTimes) senderFunc {
	return func(_ context.Context, message sender.Message) sender.Attempt {
		sent.add(message.URL)
		if message.URL == hungURL {
			time.Sleep(15 * time.Second)
			return sender.Attempt{Failure: sender.FailureTimeout}
		}
		return sender.Attempt{Status: 200}
	}
}

func TestSQLite_oneHungReceiverDelaysNoOther(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		sent := new(attemptTimes)
		s.sender = hangingSender(sent)
		began := time.Now()
		s.seed(500, hungURL)
		s.seed(2, urls(99)...)
		s.work(10 * time.Second)
		for _, url := range urls(99) {
			at := sent.of(url)
			if len(at) != 2 || at[1].Sub(began) > 100*time.Millisecond {
				s.t.Errorf("%s got attempts at %v, want two within 100 ms", url, at)
			}
		}
		if n := len(sent.of(hungURL)); n != 4 {
			s.t.Errorf("%d attempts in flight to the receiver that hangs, want 4", n)
		}
	})
}

// Receivers of a user that hang, even if there are more of them than workers, do not delay a new one of the same user.
func TestSQLite_manyHungReceiversLeaveWorkersFree(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		sent := new(attemptTimes)
		s.sender = senderFunc(func(_ context.Context, message sender.Message) sender.Attempt {
			sent.add(message.URL)
			if message.URL == "https://hooks.example.com/" {
				return sender.Attempt{Status: 200}
			}
			time.Sleep(15 * time.Second)
			return sender.Attempt{Failure: sender.FailureTimeout}
		})
		s.seed(100, urls(100)...)
		s.config.BreakAfter = 1 << 30 // otherwise the breakers free the workers
		done := make(chan time.Time)
		go func() {
			time.Sleep(2*time.Minute + time.Second)
			created := time.Now()
			s.create()
			done <- created
		}()
		go s.work(3 * time.Minute)
		created := <-done
		time.Sleep(2 * time.Minute)
		at := sent.of("https://hooks.example.com/")
		if len(at) != 3 || at[2].Sub(created) > 100*time.Millisecond {
			s.t.Errorf("a receiver that answers got %v after %v", at, created)
		}
	})
}

func TestSQLite_longBacklogDelaysNoOtherReceiver(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		sent := new(attemptTimes)
		s.sender = hangingSender(sent)
		s.seed(100_000/loadDivisor, hungURL)
		s.workWhile(2*time.Minute, func() {
			for _, url := range urls(50) {
				time.Sleep(time.Second)
				created := time.Now()
				s.createFor(url)
				time.Sleep(time.Second)
				if at := sent.of(url); len(at) != 3 || at[2].Sub(created) > 100*time.Millisecond {
					s.t.Errorf("%s got %v after %v", url, at, created)
				}
			}
		})
	})
}

func TestDeliverer_Run_switchesOffAnEndpointThatRespondsWith410(t *testing.T) {
	onEachDatabase(t, func(s *fixture) {
		const gone = "https://hooks.example.com/gone"
		sent := new(attemptTimes)
		status := 410
		s.sender = senderFunc(func(_ context.Context, message sender.Message) sender.Attempt {
			sent.add(message.URL)
			if message.URL == gone && status != 200 {
				return sender.Attempt{Status: status, Failure: sender.FailureStatus}
			}
			return sender.Attempt{Status: 200}
		})
		first := s.createFor(gone)
		s.work(time.Second)
		second, other := s.createFor(gone), s.createFor("https://hooks.example.com/here")
		s.work(time.Minute)
		if n := len(sent.of(gone)); n != 1 {
			s.t.Errorf("%d attempts to a URL that is gone, want 1", n)
		}
		if n := len(sent.of("https://hooks.example.com/here")); n != 3 {
			s.t.Errorf("%d events for %s, want 3", n, other.ID)
		}
		reasons := func(id string) (all []studio.Reason) {
			for _, event := range studiotest.Events(s.t, s.db, studio.EventFilter{SubjectID: id, State: studio.EventExhausted}) {
				all = append(all, event.Reason)
			}
			return all
		}
		if got := reasons(first.ID); !slices.Equal(got, []studio.Reason{studio.ReasonGone, studio.ReasonDisabled, studio.ReasonDisabled}) {
			s.t.Errorf("the first subject's events ended for %q", got)
		}
		if got := reasons(second.ID); len(got) != 3 {
			s.t.Errorf("the second subject's events ended for %q", got)
		}
		endpoints, err := s.db.DisabledEndpoints(s.t.Context())
		if err != nil || len(endpoints) != 1 || endpoints[0].URL != gone {
			s.t.Fatalf("disabled are %+v (%v)", endpoints, err)
		}

		status = 200
		check(s.t, s.db.EnableEndpoint(s.t.Context(), s.user.ID, gone))
		if n, err := s.studio.ReplayEvents(s.t.Context(), studio.Replay{Filter: studio.EventFilter{To: s.now()}}); n != 6 || err != nil {
			s.t.Fatalf("%d events are replayed (%v), want 6", n, err)
		}
		s.work(time.Second)
		if n := len(sent.of(gone)); n != 7 {
			s.t.Errorf("%d attempts to a URL that is back, want 7", n)
		}
	})
}

// Another process, such as a command, cannot notify the daemon on SQLite. The daemon polls for its writes.
func TestSQLite_deliversEventsWrittenByAnotherProcess(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		var created time.Time
		s.rescans = true
		s.workWhile(15*time.Second, func() {
			time.Sleep(10*time.Second + time.Millisecond)
			created = time.Now()
			s.seed(1, "https://hooks.example.com/")
		})
		sent := s.receiver.deliveries()
		if len(sent) != 1 || sent[0].at.Sub(created) > time.Second {
			s.t.Errorf("sent is %v, want one event within a second", sent)
		}
	})
}
