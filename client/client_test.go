package client_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
)

// The client does not follow redirects, which would send the password to another host.
func TestClient_followsNoRedirects(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s was sent elsewhere", r.Method, r.URL)
	}))
	t.Cleanup(elsewhere.Close)
	s := newService()
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		return true
	}
	answer, ok := errors.AsType[*client.Error](get(t, s.direct(t)))
	if !ok || answer.StatusCode != http.StatusTemporaryRedirect || answer.Operation != login {
		t.Errorf("answer %+v", answer)
	}
}

func TestUserAgent_isSentInEveryRequest(t *testing.T) {
	t.Parallel()
	s := newService()
	mustGet(t, s.direct(t, func(c *client.Config) { c.UserAgent = "mine/1" }))
	for _, request := range s.seen {
		if got := request.header.Get("User-Agent"); got != "mine/1" {
			t.Errorf("%s: %q", request.operation, got)
		}
	}
}
