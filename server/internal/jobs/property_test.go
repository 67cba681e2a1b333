package jobs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/jobs"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// chaos is a Sender whose receivers fail in every way, and that keeps what was tried.
type chaos struct {
	mu     sync.Mutex
	now    func() time.Time
	pause  func(d time.Duration)
	random *rand.Rand
	tried  map[string][]try // by event
}

type try struct {
	sender.Message
	sender.Attempt
	subject string
}

func (t try) end() time.Time { return t.At.Add(t.Duration) }

// answer chooses what an event gets. Some events never succeed.
func (c *chaos) answer(id string) sender.Attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	failed := func(status int) sender.Attempt { return sender.Attempt{Status: status, Failure: sender.FailureStatus} }
	if c.random.IntN(4) == 0 && id[len(id)-1]%4 != 0 {
		return sender.Attempt{Status: http.StatusOK}
	}
	switch c.random.IntN(9) {
	case 0:
		return sender.Attempt{Failure: sender.FailureTimeout}
	case 1:
		attempt := failed(http.StatusTooManyRequests)
		attempt.RetryAfter = time.Duration(c.random.IntN(40)) * time.Hour
		return attempt
	case 2:
		attempt := failed(http.StatusServiceUnavailable)
		attempt.RetryAfter = time.Duration(c.random.IntN(300)) * time.Second
		return attempt
	case 3:
		return failed(http.StatusNotFound)
	case 4:
		return failed(http.StatusRequestTimeout)
	case 5:
		return sender.Attempt{Failure: sender.FailureConnect}
	case 6:
		return failed(http.StatusFound)
	default:
		return failed(http.StatusInternalServerError)
	}
}

func (c *chaos) Send(_ context.Context, message sender.Message) sender.Attempt {
	at := c.now()
	attempt := c.answer(message.ID)
	c.mu.Lock()
	duration := time.Duration(c.random.IntN(15_000)) * time.Millisecond
	c.mu.Unlock()
	c.pause(duration)
	attempt.At, attempt.Duration = at, c.now().Sub(at)
	_, subject, _ := strings.Cut(string(message.Body), `"avatar_id":"`)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tried[message.ID] = append(c.tried[message.ID], try{message, attempt, subject[:36]})
	return attempt
}

// schedule is the waits between attempts, as promised.
var schedule = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute, 30 * time.Minute,
	2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// wantWait checks the wait between two attempts. An event may also wait for others at its origin,
// for up to more.
func wantWait(t *testing.T, number int, before, after try, more time.Duration) {
	t.Helper()
	low, high := schedule[number]*8/10, schedule[number]*12/10
	if before.Status == 429 || before.Status == 503 || before.Failure == sender.FailureTimeout {
		low, high = max(low, time.Minute), max(high, time.Minute)
	}
	asked := min(before.RetryAfter, 24*time.Hour)
	low, high = max(low, asked), max(high, asked)+more
	// The store keeps microseconds.
	if wait := after.At.Sub(before.end()); wait < low-time.Microsecond || wait > high {
		t.Errorf("attempt %d comes %v after one with %d %s (Retry-After %v), want %v to %v",
			number+2, wait, before.Status, before.Failure, before.RetryAfter, low, high)
	}
}

// wantEvent checks the whole life of an event.
func wantEvent(t *testing.T, event store.Event, tries []try, more time.Duration) {
	t.Helper()
	last := tries[len(tries)-1]
	gaveUp := len(tries) == 12 || len(tries) >= 6 && last.Status == http.StatusNotFound
	switch {
	case event.State == store.Delivered && !last.Delivered(), event.State == store.Exhausted && (last.Delivered() || !gaveUp),
		event.State == store.Pending, event.Tries != len(tries):
		t.Errorf("an event is %s after %d tries (%d), the last %d %s", event.State, len(tries), event.Tries, last.Status, last.Failure)
	}
	for i, try := range tries {
		if string(try.Body) != string(event.Body) || try.Sequence != event.Sequence {
			t.Errorf("attempt %d of event %d sends %s", i+1, event.Sequence, try.Body)
		}
		if i == len(tries)-1 {
			break
		}
		if ended := try.Delivered() || i >= 5 && try.Status == http.StatusNotFound; ended {
			t.Errorf("attempt %d follows one with %d", i+2, try.Status)
		}
		wantWait(t, i, try, tries[i+1], more)
	}
}

// workToTheEnd works until no event is pending. It stops and starts again long before events that have
// ended are deleted, and returns those, by subject and in order.
func (s *setup) workToTheEnd() map[string][]store.Event {
	ended, known := make(map[string][]store.Event), make(map[string]bool)
	for range 100 {
		s.work(96 * time.Hour)
		events, err := s.db.Events(s.t.Context(), store.EventFilter{}, "", 1000)
		if err != nil {
			s.t.Fatal(err)
		}
		pending := false
		for _, event := range slices.Backward(events) {
			pending = pending || event.State == store.Pending
			if event.State != store.Pending && !known[event.ID] {
				known[event.ID] = true
				ended[event.SubjectID] = append(ended[event.SubjectID], event)
			}
		}
		if !pending {
			break
		}
	}
	return ended
}

// Whatever fails and however many work at once: no event is lost, each has the whole schedule and
// the same bytes, and within a subject they are sent in order.
func TestDelivery_keepsItsPromisesOverTheWholeSchedule(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		limits  jobs.Config
		origins int
		more    time.Duration // that an event may wait for others
	}{
		{"no limits", jobs.Config{Workers: 1000, InFlight: 1000, Rate: 100_000, BreakAfter: 1 << 30}, 3, 15 * time.Second},
		{"one worker", jobs.Config{Workers: 1, BreakAfter: 1 << 30}, 3, 12 * time.Hour},
		{"the defaults", jobs.Config{}, 10, 24 * time.Hour},
		{"a breaker for all", jobs.Config{BreakAfter: 4}, 1, 48 * time.Hour},
	} {
		t.Run("Local/"+test.name, func(t *testing.T) {
			inBubble(t, func(s *setup) {
				s.limits = test.limits
				s.wantPromisesKept(max(30/fewer, 6), test.origins, time.Sleep, test.more)
			})
		})
	}
}

// The clock of PostgreSQL is that of the test, too.
func TestDelivery_keepsItsPromisesOnPostgres(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(s *setup) { s.wantPromisesKept(6, 3, time.Sleep, 24*time.Hour) })
}

// wantPromisesKept delivers what a number of subjects have to announce, whose receivers pause
// before they answer. An event may wait for more than its schedule says.
func (s *setup) wantPromisesKept(subjects, origins int, pause func(time.Duration), more time.Duration) {
	s.t.Helper()
	sent := &chaos{
		now: s.now, pause: pause, random: rand.New(rand.NewPCG(rand.Uint64(), 0)), tried: make(map[string][]try),
	}
	s.sender = sent
	var created []string
	for i := range subjects {
		created = append(created, s.createFor(fmt.Sprintf("https://%d.example.com/", i%origins)).ID)
	}
	ended := s.workToTheEnd()
	for _, id := range created {
		events := ended[id]
		if len(events) != 3 {
			s.t.Fatalf("%d events have ended, want 3", len(events))
		}
		var before time.Time
		for i, event := range events {
			tries := sent.tried[event.ID]
			if event.Sequence != int64(i+1) || len(tries) == 0 || tries[0].subject != id {
				s.t.Fatalf("event %d of %s was tried %d times", i+1, id, len(tries))
			}
			if tries[0].At.Before(before) {
				s.t.Errorf("event %d was sent at %v, before the one before had ended at %v", i+1, tries[0].At, before)
			}
			before = tries[len(tries)-1].end()
			wantEvent(s.t, event, tries, more)
		}
	}
}
