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

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// A wait with UntilConsentPending ends at consent_pending, or at a final state that comes before, with and
// without a receiver.
func TestUntilConsentPending_endsWait(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"consent_pending", "published", "failed", "consent_failed"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newService()
				set := s.state("processing")
				withReceiver, deliver := s.withReceiver(t)
				time.AfterFunc(3*time.Minute, func() { set(status); deliver("avatar_event", "avatar_id", "id", status) })
				for name, test := range map[string]struct {
					c      *client.Client
					within time.Duration
				}{
					"polls":  {s.direct(t, static), 10 * time.Second},
					"events": {withReceiver, 0},
				} {
					start := time.Now()
					go func() {
						avatar, err := test.c.WaitAvatar(t.Context(), "id", client.UntilConsentPending())
						late := time.Since(start) - 3*time.Minute
						if err != nil || string(avatar.Status) != status || late < 0 || late > test.within {
							t.Errorf("%s: avatar %+v, error %v, %v late", name, avatar, err, late)
						}
					}()
				}
				time.Sleep(4 * time.Minute)
			})
		})
	}
}

// If the service does not support polling, the event for consent_pending ends a wait, even if it arrived
// before the wait. Waits without UntilConsentPending ignore it, and a later event replaces it.
func TestUntilConsentPending_worksWithoutPolling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		s.before = failing(details, http.StatusNotImplemented)
		c, deliver := s.withReceiver(t)
		want := func(status gen.AvatarStatus, options ...client.CallOption) {
			t.Helper()
			avatar, err := c.WaitAvatar(t.Context(), "id", options...)
			check(t, err)
			if diff := cmp.Diff(&gen.Avatar{AvatarID: "id", Status: status}, avatar); diff != "" {
				t.Error(diff)
			}
		}
		time.AfterFunc(time.Minute, func() { deliver("avatar_event", "avatar_id", "id", "consent_pending") })
		time.AfterFunc(time.Hour, func() { deliver("avatar_event", "avatar_id", "id", "published") })
		want(gen.AvatarStatusConsentPending, client.UntilConsentPending())
		want(gen.AvatarStatusConsentPending, client.UntilConsentPending())
		want(gen.AvatarStatusPublished)
		want(gen.AvatarStatusPublished, client.UntilConsentPending())
	})
}

// A wait for an avatar ends with its final event, however many events of other avatars arrive in between.
func TestWait_endsAfterManyOtherEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		set := s.state("processing")
		c, deliver := s.withReceiver(t)
		time.AfterFunc(time.Second, func() {
			for i := range 5000 {
				deliver("avatar_event", "avatar_id", fmt.Sprint("id-", i), "consent_pending")
			}
			set("published")
			deliver("avatar_event", "avatar_id", "id-7", "published")
		})
		start := time.Now()
		if _, err := c.WaitAvatar(t.Context(), "id-7"); err != nil || time.Since(start) != time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
		if n := c.Ends(); n > 1024 {
			t.Errorf("%d subjects are remembered", n)
		}
	})
}

func TestPoll_boundsTheIntervals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		poll            client.Poll
		receives        bool
		least, most     int
		shortest, bound time.Duration
	}{
		"default":                 {client.Poll{}, false, 60 * 6, 60*12 + 10, 250 * time.Millisecond, 10 * time.Second},
		"often":                   {client.Poll{BaseInterval: time.Millisecond, MaxInterval: time.Second}, false, 3600, 7300, time.Millisecond / 2, time.Second},
		"base above max":          {client.Poll{BaseInterval: time.Hour, MaxInterval: time.Minute}, false, 60, 121, 30 * time.Second, time.Minute},
		"without bound":           {client.Poll{BaseInterval: time.Second, MaxInterval: math.MaxInt64}, false, 10, 14, time.Second / 2, time.Hour},
		"default, receiver":       {client.Poll{}, true, 120, 241, 15 * time.Second, 30 * time.Second},
		"long interval, receiver": {client.Poll{EventInterval: 10 * time.Minute}, true, 6, 13, 5 * time.Minute, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				receiver, _ := newReceiver(t)
				s, times := newService(), []time.Time(nil)
				s.state("processing")
				answer := s.before
				s.before = func(w http.ResponseWriter, r *http.Request) bool {
					times = append(times, time.Now())
					return answer(w, r)
				}
				c := s.direct(t, static, func(c *client.Config) {
					c.Poll = test.poll
					if test.receives {
						c.Receiver = receiver
					}
				})
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
				if test.passes && err != nil || !test.passes && (!errors.Is(err, test.err) || asked != 2) { // for the stream and for the poll
					t.Errorf("error %v, asked %d times", err, asked)
				}
			})
		})
	}
}
