package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/gen"
)

// eventsInBubble runs a test with a service in memory that has an event, in a bubble of synctest.
func eventsInBubble(t *testing.T, test func(t *testing.T, s *clienttest.Service, c *client.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewInMemory(t)
		c := newClient(t, of(s))
		check(t, errorOf(c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{})))
		test(t, s, c)
	})
}

// cutting returns a fault that ends a stream when it receives from end: with a cut, or properly.
func cutting(end <-chan bool) clienttest.Fault {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			var cut bool
			go func() {
				select {
				case cut = <-end:
					cancel()
				case <-ctx.Done():
				}
			}()
			next.ServeHTTP(w, r.WithContext(ctx))
			if cut {
				panic(http.ErrAbortHandler)
			}
		})
	}
}

// Each event is given once and in order: those of the past, those that occur while it is listed, and those that occur
// while no connection is open, even before the stream has an id to continue with.
func TestEventsSince_givesEachEventOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cuts     bool // or the service shuts down
		refusals int
		inList   bool // whether an event occurs while the past is listed
	}{
		"a cut":                  {cuts: true, inList: true},
		"a cut before an event":  {cuts: true},
		"the service shuts down": {inList: true},
		"the service fails":      {cuts: true, refusals: 2, inList: true},
	} {
		eventsInBubble(t, func(t *testing.T, s *clienttest.Service, c *client.Client) {
			create := func() { check(t, errorOf(c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{}))) }
			time.Sleep(time.Minute)
			since := time.Now()
			for range 5 {
				create()
			}
			if test.inList {
				s.Fail("listEvents", 1, func(next http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						create() // it is in the list and in the stream
						next.ServeHTTP(w, r)
					})
				})
			}
			end := make(chan bool)
			s.Fail("streamEvents", 1, cutting(end))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			go func() {
				for range 3 {
					time.Sleep(20 * time.Second)
					if test.refusals > 0 {
						s.Fail("streamEvents", test.refusals, clienttest.Status(http.StatusServiceUnavailable))
					}
					s.Fail("streamEvents", 1, cutting(end))
					end <- test.cuts
					create()
					synctest.Wait()
				}
				time.Sleep(20 * time.Second)
				cancel()
			}()
			var got, want []string
			var err error
			for event, failure := range c.EventsSince(ctx, since) {
				if err = failure; err == nil {
					got = append(got, event.EventID)
				}
			}
			for event, err := range c.Events(t.Context(), client.ListEventsParams{Since: &since, Order: new(gen.EventOrderOldest)}) {
				check(t, err)
				want = append(want, event.EventID)
			}
			if !slices.Equal(got, want) || len(want) < 8 || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got  %q, error %v\nwant %q", name, got, err, want)
			}
		})
	}
}

// An error ends the events. The end of a stream does not: the next one begins after the MaxDelay of the call.
func TestEventsSince_returnsErrors(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusForbidden, http.StatusNotImplemented} {
		eventsInBubble(t, func(t *testing.T, s *clienttest.Service, c *client.Client) {
			s.Fail("streamEvents", 1, clienttest.Status(http.StatusNoContent))
			s.Fail("streamEvents", 1, clienttest.Status(status))
			var all []error
			began := time.Now()
			for _, err := range c.EventsSince(t.Context(), began, client.WithRetry(client.Retry{MaxDelay: time.Minute})) {
				all = append(all, err)
			}
			if answer, ok := errors.AsType[*client.Error](errors.Join(all...)); len(all) != 1 || !ok || answer.StatusCode != status || time.Since(began) != time.Minute {
				t.Errorf("errors %v after %v", all, time.Since(began))
			}
		})
	}
}

// What the stream says of other things than an event lists the past again: that events have expired, or what a later
// version of the service sends.
func TestEventsSince_listsAgainAfterOtherItems(t *testing.T) {
	t.Parallel()
	for _, item := range []string{
		"event: events_expired\ndata: {\"retained_since\":\"2026-01-01T00:00:00Z\"}\n\n", "event: of_a_later_version\ndata: {}\n\n",
	} {
		eventsInBubble(t, func(t *testing.T, s *clienttest.Service, c *client.Client) {
			s.Fail("streamEvents", 1, func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					w.(http.Flusher).Flush() // the past is listed
					time.Sleep(time.Second)
					check(t, errorOf(c.CreateAvatar(r.Context(), gen.CreateAvatarRequest{})))
					_, _ = io.WriteString(w, item)
					w.(http.Flusher).Flush()
					<-r.Context().Done()
				})
			})
			given := 0
			for _, err := range c.EventsSince(t.Context(), time.Now().Add(-time.Hour)) {
				check(t, err)
				if given++; given == 2 {
					return
				}
			}
		})
	}
}

// Leaving the range closes the stream.
func TestEventsSince_endsWithTheRange(t *testing.T) {
	t.Parallel()
	eventsInBubble(t, func(t *testing.T, s *clienttest.Service, c *client.Client) {
		ended := false
		s.Fail("streamEvents", 1, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(w, r)
				ended = true
			})
		})
		for _, err := range c.EventsSince(t.Context(), time.Now().Add(-time.Hour)) {
			check(t, err)
			break
		}
		synctest.Wait()
		if !ended {
			t.Error("the stream is open")
		}
	})
}
