package client_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/gen"
)

// A login that fails with a transient error is retried once for all callers that wait for it.
func TestLogin_isRetriedOnceForAllCallers(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]clienttest.Fault{
		"502":                  clienttest.Status(http.StatusBadGateway),
		"503":                  clienttest.Status(http.StatusServiceUnavailable),
		"503 with Retry-After": clienttest.RetryAfter(http.StatusServiceUnavailable, 3*time.Second),
		"429 with Retry-After": clienttest.RetryAfter(http.StatusTooManyRequests, 3*time.Second),
	} {
		inBubble(t, name, func(t *testing.T) {
			s := clienttest.NewInMemory(t)
			for _, next := range []clienttest.Fault{fault, clienttest.Status(http.StatusInternalServerError), fault} {
				s.Fail("login", 1, next)
			}
			c := newClient(t, of(s))
			atOnce(t, 50, func() error { return errorOf(c.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{})) })
			if logins := len(s.Requests("login")); logins != 4 {
				t.Errorf("%d logins, want 4", logins)
			}
		})
	}
}
