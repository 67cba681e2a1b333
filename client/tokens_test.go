package client_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/gen"
)

const (
	login   = "POST /users/login"
	refresh = "POST /users/refresh"
	details = "GET /v1/avatars/avatar_details"
	create  = "POST /v1/avatars/create_avatar"
)

func get(t *testing.T, c *client.Client) error {
	t.Helper()
	_, err := c.GetAvatar(t.Context(), avatarID)
	return err
}

func mustGet(t *testing.T, c *client.Client) {
	t.Helper()
	check(t, get(t, c))
}

// atOnce calls f in n goroutines and fails the test for each error.
func atOnce(t *testing.T, n int, f func() error) {
	t.Helper()
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func wantCount(t *testing.T, s *service, operation string, want int) {
	t.Helper()
	if got := s.count(operation); got != want {
		t.Errorf("%s: %d times, want %d", operation, got, want)
	}
}

// Calls share the first login, and the renewal of a token that expired or was rejected. Each call is sent again at most
// once.
func TestTokens_concurrentCallsShareALogin(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end       func(s *service) // of the first token; nil if there is none
		rejecteds int              // most requests that are rejected
	}{
		"no token": {nil, 0},
		"expired":  {func(*service) { time.Sleep(2 * time.Hour) }, 0},
		"rejected": {(*service).revoke, 50},
	} {
		inBubble(t, name, func(t *testing.T) {
			s, logins := newService(), 1
			s.before = failing(refresh, http.StatusNotImplemented)
			s.token = func(n int) string { return jwt(n, time.Now().Add(time.Hour)) }
			c := s.direct(t)
			if test.end != nil {
				mustGet(t, c)
				test.end(s)
				logins++
			}
			atOnce(t, 50, func() error { return get(t, c) })
			wantCount(t, s, login, logins)
			if got, least := s.count(details), 50+logins-1; got < least || got > least+test.rejecteds {
				t.Errorf("%d requests", got)
			}
		})
	}
}

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

// A late 401 for a token that was replaced already causes no renewal.
func TestTokens_lateRejectionCausesNoRenewal(t *testing.T) {
	t.Parallel()
	s := newService()
	late, release := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	c := s.direct(t)
	mustGet(t, c)
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.RawQuery != "avatar_id=late" || once.Swap(true) {
			return false
		}
		close(late)
		<-release
		problem(w, http.StatusUnauthorized, "Late.")
		return true
	}
	rejected := make(chan error)
	go func() { rejected <- errorOf(c.GetAvatar(t.Context(), "late")) }()
	<-late
	s.revoke()
	mustGet(t, c)
	close(release)
	check(t, <-rejected)
	wantCount(t, s, login, 1)
	wantCount(t, s, refresh, 1)
}

func TestTokens_retryOnceWithTheSameBody(t *testing.T) {
	t.Parallel()
	s := newService()
	c := s.start(t)
	mustGet(t, c)
	s.revoke()
	request := gen.CreateAvatarRequest{Title: gen.Value("Ada")}
	check(t, errorOf(c.CreateAvatar(t.Context(), request, client.WithIdempotencyKey("key-1"))))
	sent := s.requests(create)
	if len(sent) != 2 || sent[0].body != `{"title":"Ada"}` || sent[1].body != sent[0].body {
		t.Fatalf("sent %+v", sent)
	}
	for i, request := range sent {
		if request.header.Get("Authorization") != fmt.Sprint("Bearer access-", i+1) || request.header.Get("Idempotency-Key") != "key-1" {
			t.Errorf("sent %v", request.header)
		}
	}

	// A service that rejects every token gets two requests.
	s.before = failing(create, http.StatusUnauthorized)
	harness.WantError(t, errorOf(c.CreateAvatar(t.Context(), request)), client.ErrUnauthorized)
	wantCount(t, s, create, 4)
}

// A file is sent again. A body that can be read only once is not, but the rejected token is dropped.
func TestTokens_onlyAStreamIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := newService()
	c := s.start(t)
	mustGet(t, c)
	s.revoke()
	stream := struct{ *strings.Reader }{strings.NewReader(`{}`)}
	harness.WantError(t, errorOf(c.UploadMedia(t.Context(), "video/mp4", stream)), client.ErrUnauthorized)
	mustGet(t, c)
	wantCount(t, s, details, 2)
	for _, timeout := range []time.Duration{0, time.Minute} { // the first is invalid, so nothing is sent
		s.revoke()
		file := try(os.Open("tokens_test.go"))(t)
		if err := errorOf(c.UploadMedia(t.Context(), "video/mp4", file, client.WithTimeout(timeout))); err == nil || file.Close() == nil {
			t.Errorf("the call fails with %v, and leaves its body open", err)
		}
	}
	if sent := s.requests("POST /v1/media"); len(sent) != 3 || sent[2].body == "" || sent[2].body != sent[1].body {
		t.Errorf("sent %+v", sent)
	}
}

// A caller whose context ends gets its own error at once. The login continues for the others.
func TestTokens_loginOutlivesACanceledCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		release := make(chan struct{})
		s.before = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/users/login" {
				<-release
			}
			return false
		}
		c := s.direct(t)
		ctx, cancel := context.WithCancel(t.Context())
		quitter, patient := make(chan error, 1), make(chan error, 1)
		go func() { quitter <- errorOf(c.GetAvatar(ctx, avatarID)) }()
		synctest.Wait()
		go func() { patient <- get(t, c) }()
		synctest.Wait()
		cancel()
		harness.WantError(t, <-quitter, context.Canceled)
		close(release)
		check(t, <-patient)
		wantCount(t, s, login, 1)
	})
}

// The retry with a renewed token counts as an attempt. The rejected token is renewed even if no attempt is
// left.
func TestTokens_retryCountsAsAnAttempt(t *testing.T) {
	t.Parallel()
	s := newService()
	c := s.direct(t, once)
	mustGet(t, c)
	s.revoke()
	harness.WantError(t, get(t, c), client.ErrUnauthorized)
	wantCount(t, s, details, 2)
	mustGet(t, c)
	wantCount(t, s, details, 3)
	wantCount(t, s, refresh, 1)
}

// The operations about other tokens need no login.
func TestTokens_areNotSentToEndOthers(t *testing.T) {
	t.Parallel()
	s := newService()
	check(t, s.direct(t).Logout(t.Context(), gen.LogoutRequest{RefreshToken: "another"}))
	if len(s.seen) != 1 || s.seen[0].header.Get("Authorization") != "" {
		t.Errorf("sent %+v", s.seen)
	}
}

func TestTokens_emptyAccessTokenIsAnError(t *testing.T) {
	t.Parallel()
	s := newService()
	s.token = func(int) string { return "" }
	harness.WantError(t, get(t, s.direct(t)), client.ErrDecode)
}
