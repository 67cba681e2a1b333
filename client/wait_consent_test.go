package client_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
)

// A wait with UntilConsentPending ends at consent_pending, or at a final state that comes before.
func TestUntilConsentPending_endsWait(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"consent_pending", "published", "failed", "consent_failed"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newService()
				set := s.state("processing")
				time.AfterFunc(3*time.Minute, func() { set(status) })
				start := time.Now()
				avatar, err := s.direct(t, static).WaitAvatar(t.Context(), "id", client.UntilConsentPending())
				late := time.Since(start) - 3*time.Minute
				if err != nil || string(avatar.Status) != status || late < 0 || late > 5*time.Second {
					t.Errorf("avatar %+v, error %v, %v late", avatar, err, late)
				}
			})
		})
	}
}

func TestPoll_boundsTheIntervals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		poll            client.Poll
		least, most     int
		shortest, bound time.Duration
	}{
		"default":        {client.Poll{}, 60 * 12, 60*24 + 10, 250 * time.Millisecond, 5 * time.Second},
		"often":          {client.Poll{BaseInterval: time.Millisecond, MaxInterval: time.Second}, 3600, 7300, time.Millisecond / 2, time.Second},
		"base above max": {client.Poll{BaseInterval: time.Hour, MaxInterval: time.Minute}, 60, 121, 30 * time.Second, time.Minute},
		"without bound":  {client.Poll{BaseInterval: time.Second, MaxInterval: math.MaxInt64}, 10, 14, time.Second / 2, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, times := newService(), []time.Time(nil)
				s.state("processing")
				answer := s.before
				s.before = func(w http.ResponseWriter, r *http.Request) bool {
					times = append(times, time.Now())
					return answer(w, r)
				}
				c := s.direct(t, static, func(c *client.Config) { c.Poll = test.poll })
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if _, err := c.WaitAvatar(ctx, "id"); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				if len(times) < test.least || len(times) > test.most {
					t.Errorf("asked %d times", len(times))
				}
				for i := range len(times) - 1 {
					if interval := times[i+1].Sub(times[i]); interval < test.shortest || interval > test.bound {
						t.Errorf("interval %d: %v", i, interval)
					}
				}
			})
		})
	}
}

type sometimes bool

func (sometimes) Error() string     { return "vault: sealed" }
func (s sometimes) Temporary() bool { return bool(s) }

// A temporary error of a TokenSource does not end a wait. Any other error does.
func TestWait_survivesTemporaryErrorsOfATokenSource(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err    error
		passes bool
	}{
		"says temporary":     {fmt.Errorf("token: %w", sometimes(true)), true},
		"says permanent":     {fmt.Errorf("token: %w", sometimes(false)), false},
		"a timeout":          {fmt.Errorf("token: %w", context.DeadlineExceeded), true},
		"no connection":      {fmt.Errorf("token: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}), true},
		"no name":            {fmt.Errorf("token: %w", &net.DNSError{Err: "no such host"}), true},
		"503 elsewhere":      {fmt.Errorf("token: %w", &client.Error{StatusCode: 503}), true},
		"401 elsewhere":      {fmt.Errorf("token: %w", &client.Error{StatusCode: 401}), false},
		"anything else":      {errors.New("token: no file"), false},
		"canceled by itself": {fmt.Errorf("token: %w", context.Canceled), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newService()
				s.accepted["good"] = true
				asked := 0
				tokens := &source{give: func(client.Credential) (client.Credential, error) {
					if asked++; asked < 5 {
						return "", test.err
					}
					return "good", nil
				}}
				c := s.direct(t, func(c *client.Config) { c.Email, c.Password, c.TokenSource = "", "", tokens })
				_, err := c.WaitAvatar(t.Context(), avatarID)
				if test.passes && err != nil || !test.passes && (!errors.Is(err, test.err) || asked != 1) {
					t.Errorf("error %v, asked %d times", err, asked)
				}
			})
		})
	}
}
