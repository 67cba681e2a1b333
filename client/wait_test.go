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

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

// newReceiver returns a receiver and a function that delivers to it.
func newReceiver(t *testing.T) (*webhook.Receiver, func(eventType, idField, id, status string)) {
	t.Helper()
	receiver, err := webhook.NewReceiver(webhook.Handlers{
		Unhandled: func(context.Context, gen.Event, webhook.Delivery) error { return nil },
	}, webhook.Unverified())
	if err != nil {
		t.Fatal(err)
	}
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

// state answers every question about a subject with the status that was set last.
func (s *service) state(status string) (set func(status string)) {
	s.accepted["static-1"] = true
	var current atomic.Value
	current.Store(status)
	s.before = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"status":%q}`, current.Load())
		return true
	}
	return func(status string) { current.Store(status) }
}

// waits are the three kinds of subject.
var waits = map[string]struct {
	eventType, idField string
	final              []string
	wait               func(context.Context, *client.Client, ...client.CallOption) (string, error)
}{
	"avatar": {"avatar_event", "avatar_id", []string{"published", "failed", "consent_failed"}, func(ctx context.Context, c *client.Client, o ...client.CallOption) (string, error) {
		a, err := c.WaitAvatar(ctx, "id", o...)
		if err != nil {
			return "", err
		}
		return string(a.Status), nil
	}},
	"video": {"avatar_inference_event", "inference_id", []string{"succeeded", "failed"}, func(ctx context.Context, c *client.Client, o ...client.CallOption) (string, error) {
		v, err := c.WaitVideo(ctx, "id", o...)
		if err != nil {
			return "", err
		}
		return string(v.Status), nil
	}},
	"lipsync": {"lipsync_inference_event", "inference_id", []string{"succeeded", "failed"}, func(ctx context.Context, c *client.Client, o ...client.CallOption) (string, error) {
		l, err := c.WaitLipsync(ctx, "id", o...)
		if err != nil {
			return "", err
		}
		return string(l.Status), nil
	}},
}

// eachWait calls test for each kind of subject and each of its final states, in a bubble.
func eachWait(t *testing.T, test func(t *testing.T, eventType, idField, final string, wait func(context.Context, *client.Client, ...client.CallOption) (string, error))) {
	t.Helper()
	for name, w := range waits {
		for _, final := range w.final {
			t.Run(name+" "+final, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { test(t, w.eventType, w.idField, final, w.wait) })
			})
		}
	}
}

// Without a receiver the service is asked ever more slowly, until the state is final.
func TestWait_Polls(t *testing.T) {
	t.Parallel()
	eachWait(t, func(t *testing.T, _, _, final string, wait func(context.Context, *client.Client, ...client.CallOption) (string, error)) {
		s := newService()
		set := s.state("processing")
		time.AfterFunc(2*time.Minute, func() { set("consent_pending") })
		time.AfterFunc(4*time.Minute, func() { set(final) })
		start := time.Now()
		got, err := wait(t.Context(), s.direct(t, static))
		if err != nil || got != final {
			t.Errorf("status %s, error %v", got, err)
		}
		if took := time.Since(start); took < 4*time.Minute || took > 4*time.Minute+10*time.Second {
			t.Errorf("took %v", took)
		}
		if n := len(s.seen); n < 27 || n > 60 { // 240 s at 5 to 10 s, and the first few
			t.Errorf("asked %d times", n)
		}
	})
}

// With a receiver the event is acted on at once, and the service is asked seldom before.
func TestWait_Event(t *testing.T) {
	t.Parallel()
	eachWait(t, func(t *testing.T, eventType, idField, final string, wait func(context.Context, *client.Client, ...client.CallOption) (string, error)) {
		receiver, deliver := newReceiver(t)
		s := newService()
		set := s.state("processing")
		c := s.direct(t, static, func(c *client.Config) { c.Receiver = receiver })
		time.AfterFunc(time.Minute, func() { deliver(eventType, idField, "id", "processing") })
		time.AfterFunc(2*time.Minute, func() { deliver(eventType, idField, "another", final) })
		time.AfterFunc(3*time.Minute, func() { set(final); deliver(eventType, idField, "id", final) })
		start := time.Now()
		got, err := wait(t.Context(), c)
		if err != nil || got != final || time.Since(start) != 3*time.Minute {
			t.Errorf("status %s, error %v after %v", got, err, time.Since(start))
		}
		if n := len(s.seen); n > 13 { // 180 s at 15 to 30 s, and the two ends
			t.Errorf("asked %d times", n)
		}
	})
}

// An event that is lost is made up for by asking.
func TestWait_LostEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		receiver, _ := newReceiver(t)
		s := newService()
		set := s.state("processing")
		time.AfterFunc(time.Minute, func() { set("published") })
		start := time.Now()
		_, err := s.direct(t, static, func(c *client.Config) { c.Receiver = receiver }).WaitAvatar(t.Context(), "id")
		if err != nil || time.Since(start) > 90*time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
	})
}

// A service that lags behind its own event is asked soon again.
func TestWait_EventBeforeAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		receiver, deliver := newReceiver(t)
		s := newService()
		set := s.state("processing")
		c := s.direct(t, static, func(c *client.Config) { c.Receiver = receiver })
		time.AfterFunc(time.Second, func() { deliver("avatar_event", "avatar_id", "id", "published") })
		time.AfterFunc(2*time.Second, func() { set("published") })
		start := time.Now()
		if _, err := c.WaitAvatar(t.Context(), "id"); err != nil || time.Since(start) > 4*time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
	})
}

// A question that hangs, or a login for it, does not keep the event waiting.
func TestWait_EventDuringQuestion(t *testing.T) {
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

// A service that cannot be asked has told its receiver, before the wait or during it.
func TestWait_EventsAlone(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusNotImplemented, http.StatusMethodNotAllowed} {
		for _, after := range []time.Duration{-1, time.Minute} {
			eachWait(t, func(t *testing.T, eventType, idField, final string, wait func(context.Context, *client.Client, ...client.CallOption) (string, error)) {
				receiver, deliver := newReceiver(t)
				s := newService()
				s.before = func(w http.ResponseWriter, _ *http.Request) bool {
					problem(w, code, "Not here.")
					return true
				}
				c := s.direct(t, static, func(c *client.Config) { c.Receiver = receiver })
				if after < 0 {
					deliver(eventType, idField, "id", final)
					deliver(eventType, idField, "id", "failed") // too late
				} else {
					time.AfterFunc(after, func() { deliver(eventType, idField, "id", final) })
				}
				start := time.Now()
				got, err := wait(t.Context(), c)
				if err != nil || got != final || time.Since(start) != max(0, after) || len(s.seen) != 1 {
					t.Errorf("status %s, error %v after %v", got, err, time.Since(start))
				}
				// It is remembered for the next.
				if got, err = wait(t.Context(), c); err != nil || got != final {
					t.Errorf("status %s, error %v", got, err)
				}
			})
		}
	}
}

func TestWait_EventsAlone_Answer(t *testing.T) {
	t.Parallel()
	receiver, deliver := newReceiver(t)
	s := newService()
	s.before = failing(details, http.StatusNotImplemented)
	c := s.direct(t, static, func(c *client.Config) { c.Receiver = receiver })
	deliver("avatar_event", "avatar_id", "id", "published")
	got, err := c.WaitAvatar(t.Context(), "id")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&gen.Avatar{AvatarID: "id", Status: gen.AvatarStatusPublished}, got); diff != "" {
		t.Error(diff)
	}
}

// 1,024 ends are remembered; the oldest is forgotten first. Subjects that never end are not kept.
func TestWait_Memory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		receiver, deliver := newReceiver(t)
		s := newService()
		s.accepted["static-1"] = true
		s.before = failing(details, http.StatusNotImplemented)
		c := s.direct(t, static, func(c *client.Config) { c.Receiver = receiver })
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
		if got := c.Events(); got != 1024 {
			t.Errorf("%d remembered", got)
		}
	})
}

// Any number of callers may wait for one subject, and one that leaves does not disturb the others.
func TestWait_Together(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		receiver, deliver := newReceiver(t)
		s := newService()
		s.before = failing(details, http.StatusNotImplemented)
		s.accepted["static-1"] = true
		c := s.direct(t, static, func(c *client.Config) { c.Receiver = receiver })
		time.AfterFunc(time.Second, func() {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := c.WaitAvatar(ctx, "id"); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
		time.AfterFunc(2*time.Second, func() { deliver("avatar_event", "avatar_id", "id", "published") })
		atOnce(t, 100, func() error {
			_, err := c.WaitAvatar(t.Context(), "id")
			return err
		})
	})
}

// What may pass ends with the context and is told then; what does not ends the wait.
func TestWait_Errors(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	status := func(status int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			problem(w, status, "As the test wants it.")
			return true
		}
	}
	for name, test := range map[string]struct {
		transport http.RoundTripper
		want      error
		passes    bool
	}{
		"400": {answers(status(400)), client.ErrInvalid, false},
		"401": {answers(status(401)), client.ErrUnauthorized, false},
		"403": {answers(status(403)), client.ErrForbidden, false},
		"404": {answers(status(404)), client.ErrNotFound, false},
		"405": {answers(status(405)), nil, false},
		"501": {answers(status(501)), client.ErrServer, false},
		"HTML": {answers(func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte("<p>"))
			return true
		}), client.ErrDecode, false},
		"408":       {answers(status(408)), nil, true},
		"429":       {answers(status(429)), client.ErrRateLimited, true},
		"500":       {answers(status(500)), client.ErrServer, true},
		"503":       {answers(status(503)), client.ErrServer, true},
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

// The service may ask for a longer wait than the client would make.
func TestWait_RetryAfter(t *testing.T) {
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

// A wait that is given up says so, and each question has the options of the call.
func TestWait_Canceled(t *testing.T) {
	t.Parallel()
	eachWait(t, func(t *testing.T, _, _, _ string, wait func(context.Context, *client.Client, ...client.CallOption) (string, error)) {
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
