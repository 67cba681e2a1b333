package deliver

import (
	"net/http"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

func TestDecide_returnsOutcomeOfAttempt(t *testing.T) {
	t.Parallel()
	status := func(status int) sender.Attempt {
		if status/100 == 2 {
			return sender.Attempt{Status: status}
		}
		return sender.Attempt{Status: status, Failure: sender.FailureStatus}
	}
	after := func(attempt sender.Attempt, d time.Duration) sender.Attempt {
		attempt.RetryAfter = d
		return attempt
	}
	refusedConnection := sender.Attempt{Failure: sender.FailureConnect}
	timeout := sender.Attempt{Failure: sender.FailureTimeout}
	for _, test := range []struct {
		name    string
		tries   int
		attempt sender.Attempt
		state   studio.EventState
		pause   time.Duration // before jitter
		exact   bool          // no jitter
	}{
		{"200 is delivered", 1, status(200), studio.EventDelivered, 0, true},
		{"204 on the last attempt is delivered", 12, status(204), studio.EventDelivered, 0, true},
		{"302 is retried", 1, status(302), studio.EventPending, 5 * time.Second, false},
		{"a refused connection is retried after 5 s", 1, refusedConnection, studio.EventPending, 5 * time.Second, false},
		{"the second retry waits 30 s", 2, refusedConnection, studio.EventPending, 30 * time.Second, false},
		{"the last retry waits 24 h", 11, status(500), studio.EventPending, 24 * time.Hour, false},
		{"the twelfth attempt is the last", 12, status(500), studio.EventExhausted, 0, true},
		{"410 exhausts the event", 1, status(410), studio.EventExhausted, 0, true},
		{"404 is retried", 5, status(404), studio.EventPending, 30 * time.Minute, false},
		{"404 is exhausted after six attempts", 6, status(404), studio.EventExhausted, 0, true},
		{"408 is retried like a 500", 6, status(408), studio.EventPending, 2 * time.Hour, false},
		{"425 is retried like a 500", 6, status(425), studio.EventPending, 2 * time.Hour, false},
		{"429 waits at least a minute", 1, status(429), studio.EventPending, time.Minute, true},
		{"503 waits at least a minute", 1, status(503), studio.EventPending, time.Minute, true},
		{"a timeout waits at least a minute", 1, timeout, studio.EventPending, time.Minute, true},
		{"Retry-After lengthens the wait", 1, after(status(503), time.Hour), studio.EventPending, time.Hour, true},
		{"Retry-After never shortens the wait", 4, after(status(503), time.Second), studio.EventPending, 5 * time.Minute, false},
		{"Retry-After counts for at most a day", 1, after(status(503), 1e9*time.Second), studio.EventPending, 24 * time.Hour, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			waits := make(map[time.Duration]bool)
			for range 100 {
				outcome, wait := decide(test.tries, test.attempt)
				low, high := test.pause*8/10, test.pause*12/10
				if test.exact {
					low, high = test.pause, test.pause
				}
				if gone := test.attempt.Status == http.StatusGone; outcome.DisableURL != gone {
					t.Fatalf("the URL is disabled: %v", outcome.DisableURL)
				}
				if ended := outcome.State == studio.EventExhausted; ended != (outcome.Reason != "") {
					t.Fatalf("%s with the reason %q", outcome.State, outcome.Reason)
				}
				if outcome.State != test.state || wait < low || wait > high {
					t.Fatalf("%s in %v, want %s in %v to %v", outcome.State, wait, test.state, low, high)
				}
				waits[wait] = true
			}
			if !test.exact && len(waits) < 50 {
				t.Errorf("100 retries share %d times", len(waits))
			}
		})
	}
}
