package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
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

func TestTransportError_wrapsTheCause(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + listener.Addr().String()
	listener.Close()

	for name, test := range map[string]struct {
		canceled bool
		change   func(*client.Config)
		want     error
	}{
		"refused":         {false, static, syscall.ECONNREFUSED},
		"refused login":   {false, func(*client.Config) {}, syscall.ECONNREFUSED},
		"canceled":        {true, static, context.Canceled},
		"canceled, login": {true, func(*client.Config) {}, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, func(c *client.Config) { c.BaseURL, c.HTTPClient = closed, nil }, test.change, fast)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.canceled {
				cancel()
			}
			_, err := c.GetAvatar(ctx, "canary")
			if !errors.Is(err, test.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("error %v", err)
			}
			if _, answered := errors.AsType[*client.Error](err); answered {
				t.Error("an *Error without an answer")
			}
		})
	}
}

func TestTransportError_hasNoQueryOrUser(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	c := newClient(t, static, fast, func(c *client.Config) {
		c.HTTPClient = &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) { return nil, boom })}
	})
	_, err := c.GetAvatar(t.Context(), "canary")
	if !errors.Is(err, boom) || err.Error() != `GET "http://localhost/v1/avatars/avatar_details": boom` {
		t.Errorf("error %v", err)
	}
}

// The connection breaks in the middle of a response.
func TestTransportError_isReturnedForBrokenBody(t *testing.T) {
	t.Parallel()
	s := newService()
	s.before = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte(`{"avatar_id":"canary`))
		return true
	}
	err := get(t, s.start(t, static, fast))
	wrapped, ok := errors.AsType[*url.Error](err)
	if !ok || wrapped.Op != http.MethodGet || strings.Contains(err.Error(), "canary") || errors.Is(err, client.ErrDecode) {
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
