package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
)

// Each event is given once and in order: those of the past, those that occur while it is listed, and those that occur
// while no connection is open, even before the stream has an id to continue with.
func TestEventsSince_givesEachEventOnce(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(s *eventSource){
		"nothing happens":        func(*eventSource) {},
		"a cut":                  (*eventSource).cut,
		"a cut before an event":  (*eventSource).cut,
		"the service shuts down": (*eventSource).shutDown,
		"the service fails": func(s *eventSource) {
			s.change(func() { s.refusals = []int{503, 500} })
			s.cut()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, s *eventSource, c *client.Client) {
				var want []string
				set := func(status string) {
					s.set("id", status)
					want = append(want, status)
				}
				time.Sleep(time.Hour)
				since := time.Now()
				for i := range 5 {
					set(fmt.Sprint("past ", i))
				}
				if name != "a cut before an event" {
					s.listed = func() { set("while it is listed") }
				}
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					for i := range 3 {
						time.Sleep(20 * time.Second)
						disturb(s)
						set(fmt.Sprint("live ", i))
						synctest.Wait()
					}
					time.Sleep(20 * time.Second)
					cancel()
				}()
				var got []string
				var err error
				for event, failure := range c.EventsSince(ctx, since) {
					if err = failure; err == nil {
						_, status, _ := strings.Cut(string(event.Notification.Data), `"status":"`)
						got = append(got, strings.TrimRight(status, `"}`))
					}
				}
				if !slices.Equal(got, want) || !errors.Is(err, context.Canceled) {
					t.Errorf("got  %q, error %v\nwant %q", got, err, want)
				}
			})
		})
	}
}

func TestEventsSince_returnsErrors(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusForbidden, http.StatusNotImplemented} {
		inBubble(t, func(t *testing.T, s *eventSource, c *client.Client) {
			s.refusals = []int{status}
			var all []error
			for _, err := range c.EventsSince(t.Context(), time.Now()) {
				all = append(all, err)
			}
			if answer, ok := errors.AsType[*client.Error](errors.Join(all...)); len(all) != 1 || !ok || answer.StatusCode != status {
				t.Errorf("errors %v", all)
			}
		})
	}
}

// Leaving the range closes the stream.
func TestEventsSince_endsWithTheRange(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *eventSource, c *client.Client) {
		for _, err := range c.EventsSince(t.Context(), time.Now().Add(-time.Hour)) {
			check(t, err)
			break
		}
		synctest.Wait()
		if open := s.streams(); open != 0 {
			t.Errorf("%d streams are open", open)
		}
	})
}
