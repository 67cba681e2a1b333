package deliver

import (
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// retryWaits is the backoff: the waits between the attempts for one event. Each wait is changed by up to
// jitter, so that events that failed together are not retried together. An event has one attempt more than
// there are waits.
//
//nolint:gochecknoglobals // a table
var retryWaits = [...]time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute, 30 * time.Minute,
	2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	jitter = 0.2 // as a fraction of the wait
	// maxRefusedTries is the number of attempts for an event that the receiver refuses permanently.
	maxRefusedTries = 6
	// minOverloadWait is the shortest wait after a sign that the receiver is overloaded.
	minOverloadWait = time.Minute
	maxRetryAfter   = 24 * time.Hour
)

// decide returns the outcome of an event after an attempt. tries counts the attempts for the event, this
// one included. If the outcome is pending, the next attempt is due after wait.
func decide(tries int, attempt sender.Attempt) (outcome store.Outcome, wait time.Duration) {
	switch {
	case attempt.Delivered():
		return store.Outcome{State: studio.EventDelivered}, 0
	case attempt.Status == http.StatusGone:
		return store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonGone, DisableURL: true}, 0
	case tries > len(retryWaits):
		return store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonSchedule}, 0
	case tries >= maxRefusedTries && refused(attempt.Status):
		return store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonRefused}, 0
	}
	wait = time.Duration(float64(retryWaits[tries-1]) * (1 - jitter + 2*jitter*rand.Float64()))
	if overloaded(attempt) {
		wait = max(wait, minOverloadWait)
	}
	return store.Outcome{State: studio.EventPending}, max(wait, min(attempt.RetryAfter, maxRetryAfter))
}

// refused reports whether a status means that the same request will fail again.
func refused(status int) bool { return status >= 400 && status < 500 && !retriable(status) }

// retriable reports whether a 4xx status means that the same request may succeed later.
func retriable(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests
}

// overloaded reports whether an attempt shows that the receiver is overloaded: a 429, a 503 or a timeout.
func overloaded(attempt sender.Attempt) bool {
	return attempt.Status == http.StatusTooManyRequests || attempt.Status == http.StatusServiceUnavailable ||
		attempt.Failure == sender.FailureTimeout
}
