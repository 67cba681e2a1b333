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
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

// newReceiver returns a receiver with a function that delivers an event to it.
func newReceiver(t *testing.T) (*webhook.Receiver, func(eventType, idField, id, status string)) {
	t.Helper()
	receiver, err := webhook.NewReceiver(webhook.Handlers{
		Unhandled: func(context.Context, gen.Event, webhook.Delivery) error { return nil },
	}, webhook.Unverified())
	check(t, err)
	var n atomic.Int64
	return receiver, func(eventType, idField, id, status string) {
		t.Helper()
		body := fmt.Sprintf(`{"event_type":%q,"data":{%q:%q,"status":%q}}`, eventType, idField, id, status)
		header := http.Header{webhook.HeaderID: {fmt.Sprint("event-", n.Add(1))}}
		if err := receiver.Handle(t.Context(), header, []byte(body)); err != nil {
			t.Error(err)
		}
	}
}

// withReceiver returns a client of s with a receiver, and a function that delivers an event to it.
func (s *service) withReceiver(t *testing.T) (c *client.Client, deliver func(eventType, idField, id, status string)) {
	t.Helper()
	receiver, deliver := newReceiver(t)
	return s.direct(t, static, func(c *client.Config) { c.Receiver = receiver }), deliver
}

// With a receiver, a wait ends as soon as the event arrives, and polls rarely before.
func TestWait_endsWithTheEvent(t *testing.T) {
	t.Parallel()
	eachWait(t, func(t *testing.T, eventType, idField, final string, wait waitFunc) {
		s := newService()
		set := s.state("processing")
		c, deliver := s.withReceiver(t)
		time.AfterFunc(time.Minute, func() { deliver(eventType, idField, "id", "processing") })
		time.AfterFunc(2*time.Minute, func() { deliver(eventType, idField, "another", final) })
		time.AfterFunc(3*time.Minute, func() { set(final); deliver(eventType, idField, "id", final) })
		start := time.Now()
		got, err := wait(t.Context(), c)
		if err != nil || got != final || time.Since(start) != 3*time.Minute {
			t.Errorf("status %s, error %v after %v", got, err, time.Since(start))
		}
		if n := len(s.seen); n > 13 { // 180 s with polls every 15 to 30 s, and the first and last poll
			t.Errorf("asked %d times", n)
		}
	})
}

// Polling finds the final state if the event is lost.
func TestWait_pollsInCaseTheEventIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		set := s.state("processing")
		c, _ := s.withReceiver(t)
		time.AfterFunc(time.Minute, func() { set("published") })
		start := time.Now()
		_, err := c.WaitAvatar(t.Context(), "id")
		if err != nil || time.Since(start) > 90*time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
	})
}

// If the event arrives before the service shows the new state, the wait polls again soon.
func TestWait_pollsSoonAfterTheEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		set := s.state("processing")
		c, deliver := s.withReceiver(t)
		time.AfterFunc(time.Second, func() { deliver("avatar_event", "avatar_id", "id", "published") })
		time.AfterFunc(2*time.Second, func() { set("published") })
		start := time.Now()
		if _, err := c.WaitAvatar(t.Context(), "id"); err != nil || time.Since(start) > 4*time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
	})
}

// An event ends a wait even while a poll, or the login for it, hangs.
func TestWait_endsWithTheEventDuringAPoll(t *testing.T) {
	t.Parallel()
	for _, hangs := range []string{details, login} {
		synctest.Test(t, func(t *testing.T) {
			receiver, deliver := newReceiver(t)
			s, n := newService(), 0
			c := newClient(t, func(c *client.Config) {
				c.Receiver = receiver
				c.HTTPClient = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
					if n++; n == 1 && hangs == login || n == 2 && hangs == details {
						select {
						case <-r.Context().Done():
							return nil, r.Context().Err()
						case <-time.After(4 * time.Second):
						}
					}
					return s.RoundTrip(r)
				})}
			})
			time.AfterFunc(3*time.Second, func() { deliver("avatar_event", "avatar_id", "id", "published") })
			want := map[string]time.Duration{details: 3 * time.Second, login: 4 * time.Second}[hangs]
			start := time.Now()
			if _, err := c.WaitAvatar(t.Context(), "id"); err != nil || time.Since(start) != want {
				t.Errorf("error %v after %v", err, time.Since(start))
			}
		})
	}
}

// If the service does not support polling, an event that arrives before or during the wait ends it.
func TestWait_worksWithoutPolling(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusNotImplemented, http.StatusMethodNotAllowed} {
		for _, after := range []time.Duration{-1, time.Minute} {
			eachWait(t, func(t *testing.T, eventType, idField, final string, wait waitFunc) {
				s := newService()
				s.before = answerAll(code)
				c, deliver := s.withReceiver(t)
				if after < 0 {
					deliver(eventType, idField, "id", final)
					deliver(eventType, idField, "id", "failed") // after the final state
				} else {
					time.AfterFunc(after, func() { deliver(eventType, idField, "id", final) })
				}
				start := time.Now()
				got, err := wait(t.Context(), c)
				if err != nil || got != final || time.Since(start) != max(0, after) || len(s.seen) != 1 {
					t.Errorf("status %s, error %v after %v", got, err, time.Since(start))
				}
				// The next wait gets the recorded event.
				if got, err = wait(t.Context(), c); err != nil || got != final {
					t.Errorf("status %s, error %v", got, err)
				}
			})
		}
	}
}

// A receiver records 1,024 ends and drops the oldest first. It does not record subjects without an end.
func TestWait_recordsTheLatestEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		s.before = failing(details, http.StatusNotImplemented)
		c, deliver := s.withReceiver(t)
		for i := range 3000 {
			deliver("avatar_event", "avatar_id", fmt.Sprint(i), "processing")
			deliver("avatar_event", "avatar_id", fmt.Sprint(i), "failed")
		}
		for i, want := range map[int]error{1975: context.DeadlineExceeded, 1976: nil, 2999: nil} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			if _, err := c.WaitAvatar(ctx, fmt.Sprint(i)); !errors.Is(err, want) {
				t.Errorf("%d: error %v", i, err)
			}
			cancel()
		}
		if got := c.Ends(); got != 1024 {
			t.Errorf("%d remembered", got)
		}
	})
}
