package client_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// failingFirst injects one fault into each of the first requests to an operation.
func failingFirst(operation string, faults ...func(http.ResponseWriter)) func(http.ResponseWriter, *http.Request) bool {
	n := 0
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method+" "+r.URL.Path != operation || n == len(faults) {
			return false
		}
		n++
		faults[n-1](w)
		return true
	}
}

func answerStatus(status int, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		problem(w, status, "As the test wants it.")
	}
}

// A login that fails with a transient error is retried once for all callers that wait for it.
func TestLogin_isRetriedOnceForAllCallers(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(http.ResponseWriter){
		"502":                  answerStatus(http.StatusBadGateway),
		"503":                  answerStatus(http.StatusServiceUnavailable),
		"503 with Retry-After": answerStatus(http.StatusServiceUnavailable, "Retry-After", "3"),
		"429 with Retry-After": answerStatus(http.StatusTooManyRequests, "Retry-After", "3"),
	} {
		inBubble(t, name, func(t *testing.T) {
			s := newService()
			s.before = failingFirst(login, first, answerStatus(http.StatusInternalServerError), first)
			c := s.direct(t)
			atOnce(t, 50, func() error { return errorOf(c.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{})) })
			wantCount(t, s, login, 4)
		})
	}
}

// WithRetry limits the logins that a call waits for, whoever else waits for them.
func TestLogin_retriesWithinTheLimitsOfEachCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		unavailable := answerStatus(http.StatusServiceUnavailable, "Retry-After", "5")
		s.before = failingFirst(login, unavailable, unavailable, unavailable)
		c := s.direct(t)
		start := time.Now()
		call := func(ctx context.Context, retry client.Retry, want error, after time.Duration, attempts int) func() {
			return func() {
				_, err := c.GetAvatar(ctx, avatarID, client.WithRetry(retry))
				took := time.Since(start).Truncate(time.Second)
				answer, answered := errors.AsType[*client.Error](err)
				if !errors.Is(err, want) || took != after || answered && attempts > 0 && answer.Attempts != attempts {
					t.Errorf("%+v: error %v after %v", retry, err, took)
				}
			}
		}
		bounded, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		canceled, abort := context.WithCancel(t.Context())
		time.AfterFunc(6*time.Second, abort)
		calls := []func(){
			call(t.Context(), client.Retry{Attempts: 1}, client.ErrServer, 0, 1),
			call(t.Context(), client.Retry{Attempts: 3}, client.ErrServer, 10*time.Second, 3),
			call(t.Context(), client.Retry{Attempts: 4}, nil, 15*time.Second, 0),
			call(t.Context(), client.Retry{MaxDelay: 4 * time.Second}, client.ErrServer, 0, 1),
			call(bounded, client.Retry{}, client.ErrServer, 5*time.Second, 2), // the next delay is longer than allowed
			call(canceled, client.Retry{}, context.Canceled, 6*time.Second, 0),
		}
		var group sync.WaitGroup
		for _, call := range calls {
			group.Go(call)
		}
		group.Wait()
		wantCount(t, s, login, 4)
	})
}
