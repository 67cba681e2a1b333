package jobs

import (
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// pauses are the waits between attempts; each is changed by up to jitter, so that events that
// failed together do not come back together. An event has one attempt more than there are pauses.
//
//nolint:gochecknoglobals // a table
var pauses = [...]time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute, 30 * time.Minute,
	2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	jitter = 0.2
	// refusedTries is how often an event is tried that the receiver refuses for good.
	refusedTries = 6
	// overloadPause is the least wait after a sign that the receiver has too much to do.
	overloadPause = time.Minute
	maxRetryAfter = 24 * time.Hour
)

// judge says what an attempt makes of its event, given how many attempts there were with this
// one: it has ended, or the next attempt is due after a wait.
func judge(tries int, attempt sender.Attempt) (outcome store.Outcome, wait time.Duration) {
	switch {
	case attempt.Delivered():
		return store.Outcome{State: store.Delivered}, 0
	case attempt.Status == http.StatusGone:
		return store.Outcome{State: store.Exhausted, Reason: store.ReasonGone, SwitchOff: true}, 0
	case tries > len(pauses):
		return store.Outcome{State: store.Exhausted, Reason: store.ReasonSchedule}, 0
	case tries >= refusedTries && refused(attempt.Status):
		return store.Outcome{State: store.Exhausted, Reason: store.ReasonRefused}, 0
	}
	wait = time.Duration(float64(pauses[tries-1]) * (1 - jitter + 2*jitter*rand.Float64()))
	if overloaded(attempt) {
		wait = max(wait, overloadPause)
	}
	return store.Outcome{State: store.Pending}, max(wait, min(attempt.RetryAfter, maxRetryAfter))
}

// refused reports whether a status says that the same request will fail again.
func refused(status int) bool { return status >= 400 && status < 500 && !retriable(status) }

// retriable reports whether a 4xx status says that the same request may succeed later.
func retriable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	default:
		return false
	}
}

func overloaded(attempt sender.Attempt) bool {
	return attempt.Status == http.StatusTooManyRequests || attempt.Status == http.StatusServiceUnavailable ||
		attempt.Failure == sender.FailureTimeout
}
