package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
)

// state makes the service respond with the status that was last set.
func (s *service) state(status string) (set func(status string)) {
	var current atomic.Value
	current.Store(status)
	s.before = func(w http.ResponseWriter, _ *http.Request) bool {
		return answerJSON(w, http.StatusOK, fmt.Sprintf(`{"status":%q}`, current.Load()))
	}
	return func(status string) { current.Store(status) }
}

// A wait polls at growing intervals until the state is final, or consent_pending with UntilConsentPending.
func TestWait_pollsAtGrowingIntervals(t *testing.T) {
	t.Parallel()
	avatar := func(ctx context.Context, c *client.Client) (string, error) {
		a, err := c.WaitAvatar(ctx, "id")
		return fmt.Sprint(a.Status), err
	}
	untilConsent := func(ctx context.Context, c *client.Client) (string, error) {
		a, err := c.WaitAvatar(ctx, "id", client.UntilConsentPending())
		return fmt.Sprint(a.Status), err
	}
	video := func(ctx context.Context, c *client.Client) (string, error) {
		v, err := c.WaitVideo(ctx, "id")
		return fmt.Sprint(v.Status), err
	}
	lipsync := func(ctx context.Context, c *client.Client) (string, error) {
		l, err := c.WaitLipsync(ctx, "id")
		return fmt.Sprint(l.Status), err
	}
	for name, test := range map[string]struct {
		wait  func(context.Context, *client.Client) (string, error)
		final string
		after time.Duration
	}{
		"avatar":           {avatar, "published", 4 * time.Minute},
		"failed avatar":    {avatar, "failed", 4 * time.Minute},
		"without consent":  {avatar, "consent_failed", 4 * time.Minute},
		"until consent":    {untilConsent, "consent_pending", 2 * time.Minute},
		"never consent":    {untilConsent, "failed", time.Minute},
		"video":            {video, "succeeded", 4 * time.Minute},
		"failed video":     {video, "failed", 4 * time.Minute},
		"lip-sync":         {lipsync, "succeeded", 4 * time.Minute},
		"failed lip-sync ": {lipsync, "failed", 4 * time.Minute},
	} {
		inBubble(t, name, func(t *testing.T) {
			s := newService()
			set := s.state("processing")
			time.AfterFunc(2*time.Minute, func() { set("consent_pending") })
			time.AfterFunc(test.after, func() { set(test.final) })
			start := time.Now()
			got, err := test.wait(t.Context(), s.direct(t, static))
			late := time.Since(start) - test.after
			if err != nil || got != test.final || late < 0 || late > 5*time.Second {
				t.Errorf("status %s, error %v, %v late", got, err, late)
			}
			if n, minutes := len(s.seen), int(test.after/time.Minute); n < 12*minutes || n > 24*minutes+14 { // every 2.5 to 5 s, and the first few
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// A temporary error, of the service or of a TokenSource, is returned only when the context ends. Any other error ends
// the wait.
func TestWait_returnsPermanentErrors(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	answered := func(status int) http.RoundTripper {
		s := newService()
		s.before = failing(details, status)
		return s
	}
	for name, test := range map[string]struct {
		transport http.RoundTripper // or
		token     error
		want      error
		passes    bool
	}{
		"401": {transport: answered(401), want: client.ErrUnauthorized},
		"404": {transport: answered(404), want: client.ErrNotFound},
		"405": {transport: answered(405)},
		"501": {transport: answered(501), want: client.ErrServer},
		"HTML": {transport: roundTripper(func(*http.Request) (*http.Response, error) {
			return respond(http.StatusOK, http.Header{"Content-Type": {"text/html"}}, "<p>"), nil
		}), want: client.ErrDecode},
		"408":       {transport: answered(408), passes: true},
		"429":       {transport: answered(429), want: client.ErrRateLimited, passes: true},
		"503":       {transport: answered(503), want: client.ErrServer, passes: true},
		"no answer": {transport: roundTripper(func(*http.Request) (*http.Response, error) { return nil, boom }), want: boom, passes: true},

		"token, a timeout":          {token: context.DeadlineExceeded, passes: true},
		"token, no connection":      {token: &net.OpError{Op: "dial", Err: errors.New("refused")}, passes: true},
		"token, untrusted server":   {token: &url.Error{Err: &tls.CertificateVerificationError{Err: boom}}},
		"token, 503 elsewhere":      {token: &client.Error{StatusCode: 503}, passes: true},
		"token, 401 elsewhere":      {token: &client.Error{StatusCode: 401}},
		"token, anything else":      {token: boom},
		"token, canceled by itself": {token: context.Canceled},
	} {
		inBubble(t, name, func(t *testing.T) {
			c := newClient(t, static, func(c *client.Config) {
				c.Transport = test.transport
				if test.token != nil {
					c.Token, c.TokenSource = "", &source{give: func(client.Credential) (client.Credential, error) {
						return "", fmt.Errorf("token: %w", test.token)
					}}
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			start := time.Now()
			_, err := c.WaitAvatar(ctx, "id")
			if err == nil || test.want != nil && !errors.Is(err, test.want) || test.token != nil && !errors.Is(err, test.token) {
				t.Errorf("error %v", err)
			}
			if (time.Since(start) == time.Minute) != test.passes || test.passes && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v after %v", err, time.Since(start))
			}
		})
	}
}

// Retry-After of the service extends the interval between polls.
func TestWait_waitsForRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, times := timed("60", 429, 503)
		check(t, errorOf(s.direct(t, static).WaitAvatar(t.Context(), "id")))
		for i := range 2 {
			if wait := (*times)[i+1].Sub((*times)[i]); wait != time.Minute {
				t.Errorf("wait %d: %v", i, wait)
			}
		}
	})
}

// A canceled wait says so in its error. Each poll uses the options of the call.
func TestWait_saysThatItWasCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		s.state("consent_pending")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		var response client.Response
		_, err := s.direct(t, static).WaitAvatar(ctx, "id", client.WithResponse(&response))
		if !errors.Is(err, context.Canceled) || err.Error() != "client: waiting for the end: context canceled" {
			t.Errorf("error %v", err)
		}
		if string(response.Body) != `{"status":"consent_pending"}` {
			t.Errorf("response %+v", response)
		}
	})
}
