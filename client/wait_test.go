package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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

type waitFunc func(context.Context, *client.Client, ...client.CallOption) (string, error)

// waits has the three kinds of waits.
var waits = map[string]struct {
	final []string
	wait  waitFunc
}{
	"avatar": {[]string{"published", "failed", "consent_failed"}, func(ctx context.Context, c *client.Client, o ...client.CallOption) (string, error) {
		a, err := c.WaitAvatar(ctx, "id", o...)
		if err != nil {
			return "", err
		}
		return string(a.Status), nil
	}},
	"video": {[]string{"succeeded", "failed"}, func(ctx context.Context, c *client.Client, o ...client.CallOption) (string, error) {
		v, err := c.WaitVideo(ctx, "id", o...)
		if err != nil {
			return "", err
		}
		return string(v.Status), nil
	}},
	"lipsync": {[]string{"succeeded", "failed"}, func(ctx context.Context, c *client.Client, o ...client.CallOption) (string, error) {
		l, err := c.WaitLipsync(ctx, "id", o...)
		if err != nil {
			return "", err
		}
		return string(l.Status), nil
	}},
}

// eachWait calls test for each kind of wait and each final state, in a synctest bubble.
func eachWait(t *testing.T, test func(t *testing.T, final string, wait waitFunc)) {
	t.Helper()
	for name, w := range waits {
		for _, final := range w.final {
			t.Run(name+" "+final, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { test(t, final, w.wait) })
			})
		}
	}
}

// A wait polls at growing intervals until the state is final.
func TestWait_pollsAtGrowingIntervals(t *testing.T) {
	t.Parallel()
	eachWait(t, func(t *testing.T, final string, wait waitFunc) {
		s := newService()
		set := s.state("processing")
		time.AfterFunc(2*time.Minute, func() { set("consent_pending") })
		time.AfterFunc(4*time.Minute, func() { set(final) })
		start := time.Now()
		got, err := wait(t.Context(), s.direct(t, static))
		if err != nil || got != final {
			t.Errorf("status %s, error %v", got, err)
		}
		if took := time.Since(start); took < 4*time.Minute || took > 4*time.Minute+5*time.Second {
			t.Errorf("took %v", took)
		}
		if n := len(s.seen); n < 50 || n > 110 { // 240 s with polls every 2.5 to 5 s, and the first few
			t.Errorf("asked %d times", n)
		}
	})
}

// A temporary error is returned only when the context ends. Any other error ends the wait.
func TestWait_returnsPermanentErrors(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		transport http.RoundTripper
		want      error
		passes    bool
	}{
		"400": {answers(answerAll(400)), client.ErrInvalid, false},
		"401": {answers(answerAll(401)), client.ErrUnauthorized, false},
		"403": {answers(answerAll(403)), client.ErrForbidden, false},
		"404": {answers(answerAll(404)), client.ErrNotFound, false},
		"405": {answers(answerAll(405)), nil, false},
		"501": {answers(answerAll(501)), client.ErrServer, false},
		"HTML": {answers(func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte("<p>"))
			return true
		}), client.ErrDecode, false},
		"408":       {answers(answerAll(408)), nil, true},
		"429":       {answers(answerAll(429)), client.ErrRateLimited, true},
		"500":       {answers(answerAll(500)), client.ErrServer, true},
		"503":       {answers(answerAll(503)), client.ErrServer, true},
		"no answer": {roundTripper(func(*http.Request) (*http.Response, error) { return nil, boom }), boom, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t, static, func(c *client.Config) { c.HTTPClient = &http.Client{Transport: test.transport} })
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				start := time.Now()
				_, err := c.WaitAvatar(ctx, "id")
				if err == nil || test.want != nil && !errors.Is(err, test.want) {
					t.Errorf("error %v", err)
				}
				if errors.Is(err, context.DeadlineExceeded) != test.passes || (time.Since(start) == time.Hour) != test.passes {
					t.Errorf("error %v after %v", err, time.Since(start))
				}
			})
		})
	}
}

func answers(answer func(http.ResponseWriter, *http.Request) bool) http.RoundTripper {
	s := newService()
	s.before = answer
	return s
}

// Retry-After of the service extends the interval between polls.
func TestWait_waitsForRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, times := timed("60", 429, 503)
		if _, err := s.direct(t, static).WaitAvatar(t.Context(), "id"); err != nil {
			t.Fatal(err)
		}
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
	eachWait(t, func(t *testing.T, _ string, wait waitFunc) {
		s := newService()
		s.state("consent_pending")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		var response client.Response
		_, err := wait(ctx, s.direct(t, static), client.WithResponse(&response))
		if !errors.Is(err, context.Canceled) || err.Error() != "client: waiting for the end: context canceled" {
			t.Errorf("error %v", err)
		}
		if string(response.Body) != `{"status":"consent_pending"}` {
			t.Errorf("response %+v", response)
		}
	})
}
