package client_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
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
	own := &http.Client{Transport: s}
	c := s.direct(t, func(c *client.Config) { c.HTTPClient = own })
	answer, ok := errors.AsType[*client.Error](get(t, c))
	if !ok || answer.StatusCode != http.StatusTemporaryRedirect || answer.Operation != login {
		t.Errorf("answer %+v", answer)
	}
	if own.CheckRedirect != nil {
		t.Error("the user's http.Client was changed")
	}
}

// A redirect with an invalid Location is an error that does not show the Location.
func TestRedirect_withAnInvalidLocation(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307} {
		s := newService()
		s.before = func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Location", "http://[canary?token=canary")
			w.WriteHeader(status)
			return true
		}
		_, err := s.direct(t, static).CreateAvatar(t.Context(), gen.CreateAvatarRequest{})
		answer, ok := errors.AsType[*client.Error](err)
		if !ok || answer.StatusCode != status || answer.Attempts != 1 || strings.Contains(err.Error(), "canary") || errors.Is(err, client.ErrOutcomeUnknown) {
			t.Errorf("%d: error %v", status, err)
		}
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
