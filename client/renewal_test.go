package client_test

import (
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
)

// A token is renewed 30 seconds before it expires, or halfway if its lifetime is shorter. A token without
// an expiry, or that is expired on arrival, is used until the service rejects it.
func TestTokens_areRenewedBeforeTheyExpire(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		token func(n int) string
		after time.Duration
		pairs int
	}{
		"an hour, kept":       {func(n int) string { return jwt(n, time.Now().Add(time.Hour)) }, time.Hour - 31*time.Second, 1},
		"an hour, renewed":    {func(n int) string { return jwt(n, time.Now().Add(time.Hour)) }, time.Hour - 30*time.Second, 2},
		"ten seconds, kept":   {func(n int) string { return jwt(n, time.Now().Add(10*time.Second)) }, 4 * time.Second, 1},
		"ten seconds, later":  {func(n int) string { return jwt(n, time.Now().Add(10*time.Second)) }, 5 * time.Second, 2},
		"expired on arrival":  {func(n int) string { return jwt(n, time.Now().Add(-time.Hour)) }, time.Hour, 1},
		"opaque":              {func(int) string { return "opaque" }, 1000 * time.Hour, 1},
		"three parts, no JWT": {func(int) string { return "a.b.c" }, time.Hour, 1},
		"absurd expiry":       {func(int) string { return "a.eyJleHAiOjFlMzAwfQ.c" }, time.Hour, 1},
	} {
		inBubble(t, name, func(t *testing.T) {
			s := newService()
			s.token = test.token
			c := s.direct(t)
			mustGet(t, c)
			time.Sleep(test.after)
			mustGet(t, c)
			wantCount(t, s, login, 1)
			wantCount(t, s, refresh, test.pairs-1)
			wantCount(t, s, details, 2)
		})
	}
}

// If an early renewal fails, the old token is used until it expires, and then renewed again. The client holds no lock
// while it logs, so a slog.Handler may use the client.
func TestTokens_surviveAFailedRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		s.token = func(n int) string { return jwt(n, time.Now().Add(time.Hour)) }
		var c *client.Client
		lines := 0
		c = s.direct(t, func(config *client.Config) {
			config.Logger = slog.New(slog.NewTextHandler(writerFunc(func(line []byte) (int, error) {
				lines++
				mustGet(t, c)
				return len(line), nil
			}), everything))
		})
		mustGet(t, c)
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			return failing(refresh, http.StatusServiceUnavailable)(w, r) || failing(login, http.StatusNotImplemented)(w, r)
		}
		time.Sleep(time.Hour - 10*time.Second)
		mustGet(t, c)
		mustGet(t, c)
		wantCount(t, s, refresh, 1)
		wantCount(t, s, login, 2)
		s.before = nil
		if lines != 2 {
			t.Errorf("%d lines, want one for the new token and one for the failed renewal", lines)
		}
		time.Sleep(10 * time.Second)
		mustGet(t, c)
		wantCount(t, s, refresh, 1)
		wantCount(t, s, login, 3)
	})
}

// The client tries the refresh token first, and then the password.
func TestTokens_areRenewedWithTheRefreshToken(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status               int
		after                string
		logins, refreshCalls int
	}{
		"OK":                   {0, "", 1, 2},
		"401":                  {401, "", 3, 2},
		"404":                  {404, "", 3, 2},
		"429":                  {429, "", 3, 2},
		"501":                  {501, "", 3, 2},
		"503":                  {503, "", 3, 2},
		"html":                 {200, "", 3, 2},
		"503 with Retry-After": {503, "0", 3, 8},
		"429 with Retry-After": {429, "0", 3, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService()
			c := s.direct(t, fast)
			mustGet(t, c)
			if test.status != 0 {
				s.before = func(w http.ResponseWriter, r *http.Request) bool {
					if test.after != "" {
						w.Header().Set("Retry-After", test.after)
					}
					return failing(refresh, test.status)(w, r)
				}
			}
			for range 2 {
				s.revoke()
				mustGet(t, c)
			}
			wantCount(t, s, login, test.logins)
			wantCount(t, s, refresh, test.refreshCalls)
		})
	}
}

// A wrong password is sent at most once a minute, whatever the number of calls. They do not wait, however long they
// may.
func TestTokens_sendAWrongPasswordOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		c := s.direct(t, func(c *client.Config) { c.Password, c.Retry.MaxDelay = "wrong", time.Hour })
		start := time.Now()
		for range 10 {
			err := get(t, c)
			if answer, ok := errors.AsType[*client.Error](err); !ok || answer.Operation != login || !errors.Is(err, client.ErrUnauthorized) || time.Since(start) != 0 {
				t.Fatalf("error %v after %v", err, time.Since(start))
			}
		}
		time.Sleep(59 * time.Second)
		_ = get(t, c)
		wantCount(t, s, login, 1)
		time.Sleep(time.Second)
		_ = get(t, c)
		wantCount(t, s, login, 2)
		wantCount(t, s, details, 0)
	})
}

// A permanent failure of a login, other than a wrong password, is neither retried nor remembered.
func TestTokens_forgetPermanentFailures(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusNotImplemented, http.StatusForbidden} {
		s := newService()
		s.before = failing(login, status)
		c := s.direct(t)
		if answer, ok := errors.AsType[*client.Error](get(t, c)); !ok || answer.StatusCode != status {
			t.Errorf("%d: answer %v", status, answer)
		}
		wantCount(t, s, login, 1)
		s.before = nil
		mustGet(t, c)
	}
}

// After a login was answered with Retry-After, no other login is sent before that time, which counts up to
// a minute. All calls get the same error.
func TestTokens_waitForRetryAfter(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]time.Duration{"20": 20 * time.Second, "3600": time.Minute} {
		inBubble(t, after, func(t *testing.T) {
			s := newService()
			s.before = func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Retry-After", after)
				return failing(login, http.StatusTooManyRequests)(w, r)
			}
			c := s.direct(t)
			atOnce(t, 20, func() error {
				harness.WantError(t, get(t, c), client.ErrRateLimited)
				return nil
			})
			s.before = nil
			time.Sleep(want - time.Nanosecond)
			harness.WantError(t, get(t, c), client.ErrRateLimited)
			wantCount(t, s, login, 1)
			time.Sleep(time.Nanosecond)
			mustGet(t, c)
			wantCount(t, s, login, 2)
		})
	}
}
