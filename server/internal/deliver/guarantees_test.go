package deliver_test

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/deliver"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// randomAnswer waits for a random time and returns a random answer for an event. Some events never succeed.
func randomAnswer(message sender.Message, _ int) sender.Attempt {
	time.Sleep(rand.N(15 * time.Second))
	if rand.IntN(4) == 0 && message.ID[len(message.ID)-1]%4 != 0 {
		return sender.Attempt{Status: http.StatusOK}
	}
	overloaded, unavailable := failed(http.StatusTooManyRequests), failed(http.StatusServiceUnavailable)
	overloaded.RetryAfter, unavailable.RetryAfter = time.Duration(rand.IntN(40))*time.Hour, time.Duration(rand.IntN(300))*time.Second
	timeout, refused := sender.Attempt{Failure: sender.FailureTimeout}, sender.Attempt{Failure: sender.FailureConnect}
	all := []sender.Attempt{
		overloaded, unavailable, timeout, refused, failed(http.StatusNotFound), failed(http.StatusRequestTimeout),
		failed(http.StatusFound), failed(http.StatusInternalServerError), failed(http.StatusInternalServerError),
	}
	return all[rand.IntN(len(all))]
}

// schedule is the documented waits between attempts.
var schedule = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute, 30 * time.Minute,
	2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// wantWait checks the wait between two attempts. An event may also wait for other events at its origin, for
// up to extraWait.
func wantWait(t *testing.T, number int, before, after *delivery, extraWait time.Duration) {
	t.Helper()
	low, high := schedule[number]*8/10, schedule[number]*12/10
	if before.Status == 429 || before.Status == 503 || before.Failure == sender.FailureTimeout {
		low, high = max(low, time.Minute), max(high, time.Minute)
	}
	asked := min(before.RetryAfter, 24*time.Hour)
	low, high = max(low, asked), max(high, asked)+extraWait
	// The store keeps microseconds.
	if wait := after.At.Sub(before.end()); wait < low-time.Microsecond || wait > high {
		t.Errorf("attempt %d comes %v after one with %d %s (Retry-After %v), want %v to %v",
			number+2, wait, before.Status, before.Failure, before.RetryAfter, low, high)
	}
}

// wantEvent checks the attempts and the final state of an event.
func wantEvent(t *testing.T, event studio.EventRecord, tries []*delivery, extraWait time.Duration) {
	t.Helper()
	last := tries[len(tries)-1]
	gaveUp := len(tries) == 12 || len(tries) >= 6 && last.Status == http.StatusNotFound
	switch {
	case event.State == studio.EventDelivered && !last.Delivered(), event.State == studio.EventExhausted && (last.Delivered() || !gaveUp),
		event.State == studio.EventPending, event.Tries != len(tries):
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
		wantWait(t, i, try, tries[i+1], extraWait)
	}
}

// For any failures and any concurrency: no event is lost, each is retried by the whole schedule with the
// same body, and the events of a subject are sent in order.
func TestDeliverer_Run_keepsEveryDeliveryGuarantee(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		limits  deliver.Config
		origins int
		more    time.Duration // how long an event may wait for other events
	}{
		{"no limits", deliver.Config{Workers: 1000, InFlight: 1000, Rate: 100_000, BreakAfter: 1 << 30}, 3, 15 * time.Second},
		{"one worker", deliver.Config{Workers: 1, BreakAfter: 1 << 30}, 3, 12 * time.Hour},
		{"the defaults", deliver.Config{}, 10, 24 * time.Hour},
		{"a breaker for all", deliver.Config{BreakAfter: 4}, 1, 48 * time.Hour},
	} {
		t.Run(test.name, func(t *testing.T) {
			onSQLite(t, func(s *fixture) {
				s.config = test.limits
				s.wantGuaranteesKept(max(30/loadDivisor, 6), test.origins, test.more)
			})
		})
	}
}

// The clock of the test stands in for that of PostgreSQL.
func TestPostgres_keepsEveryDeliveryGuarantee(t *testing.T) {
	onPostgresBubble(t, func(s *fixture) { s.wantGuaranteesKept(max(6/loadDivisor, 3), 3, 24*time.Hour) })
}

// wantGuaranteesKept delivers the events of a number of subjects and checks every guarantee. An event may be late by up
// to extraWait.
func (s *fixture) wantGuaranteesKept(subjects, origins int, extraWait time.Duration) {
	s.t.Helper()
	s.receiver.answer = randomAnswer
	var created []string
	for i := range subjects {
		created = append(created, s.createFor(urls(origins)[i%origins]).ID)
	}
	for range 100 { // restarts
		s.work(96 * time.Hour)
		if s.pending() == 0 {
			break
		}
	}
	attempts := make(map[string][]*delivery) // by event
	for _, d := range s.receiver.deliveries() {
		attempts[d.ID] = append(attempts[d.ID], d)
	}
	for _, id := range created {
		events := studiotest.Events(s.t, s.db, studio.EventFilter{SubjectID: id})
		if len(events) != 3 {
			s.t.Fatalf("%d events have ended, want 3", len(events))
		}
		var before time.Time
		for i, event := range events {
			tries := attempts[event.ID]
			if event.Sequence != int64(i+1) || len(tries) == 0 || !strings.Contains(string(tries[0].Body), id) {
				s.t.Fatalf("event %d of %s was tried %d times", i+1, id, len(tries))
			}
			if tries[0].At.Before(before) {
				s.t.Errorf("event %d was sent at %v, before the one before had ended at %v", i+1, tries[0].At, before)
			}
			before = tries[len(tries)-1].end()
			wantEvent(s.t, event, tries, extraWait)
		}
	}
}
