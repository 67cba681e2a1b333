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
	s := newService()
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Location", "http://[canary?token=canary")
		w.WriteHeader(http.StatusTemporaryRedirect)
		return true
	}
	err := errorOf(s.direct(t, static).CreateAvatar(t.Context(), gen.CreateAvatarRequest{}))
	answer, ok := errors.AsType[*client.Error](err)
	if !ok || answer.StatusCode != 307 || answer.Attempts != 1 || strings.Contains(err.Error(), "canary") || errors.Is(err, client.ErrOutcomeUnknown) {
		t.Errorf("error %v", err)
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

func TestListProjects_needsAWorkspace(t *testing.T) {
	t.Parallel()
	s := newService()
	c := s.direct(t, func(c *client.Config) { c.Workspace = "" })
	if _, err := c.ListProjects(t.Context()); err == nil || !strings.Contains(err.Error(), "WithWorkspace") || len(s.seen) != 0 {
		t.Errorf("error %v, sent %+v", err, s.seen)
	}
}

// Every path of the document is appended to the path of BaseURL.
func TestBasePath_precedesEveryPath(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"http://localhost/studio/v9", "http://localhost/studio/v9/", "http://localhost/studio/x/../v9"} {
		s := newService()
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			http.StripPrefix("/studio/v9", http.HandlerFunc(s.answer)).ServeHTTP(w, r)
			return true
		}
		c := s.direct(t, func(c *client.Config) { c.BaseURL = base })
		mustGet(t, c)
		if s.count("GET /studio/v9/v1/avatars/avatar_details") != 1 {
			t.Errorf("%s: %+v", base, s.seen)
		}
	}
}
