package client_test

import (
	"net/http"
	"testing"

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
