package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// eventSource is a service with avatars and a stream of their events. It works in a bubble of synctest.
type eventSource struct {
	*service

	mu       sync.Mutex
	statuses map[string]string
	polls    int
	events   []gen.EventRecord
	after    []string // Last-Event-ID of each request for the stream
	refusals []int    // statuses of the next responses to these requests; 0 opens the stream
	held     time.Duration
	open     []*io.PipeWriter
	listed   func() // called once, after the first page of a list
}

func newEventSource() *eventSource {
	s := &eventSource{service: newService(), statuses: map[string]string{}}
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/v1/events" {
			return s.list(w, r)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.polls++
		status, ok := s.statuses[r.URL.Query().Get("avatar_id")]
		if !ok {
			problem(w, http.StatusNotFound, "No such avatar.")
			return true
		}
		return answerJSON(w, http.StatusOK, fmt.Sprintf(`{"status":%q}`, status))
	}
	return s
}

// RoundTrip opens the stream, or lets the service respond.
func (s *eventSource) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/v1/events/stream" {
		return s.service.RoundTrip(r)
	}
	if s.held > 0 {
		select {
		case <-time.After(s.held):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = append(s.after, r.Header.Get("Last-Event-ID"))
	if len(s.refusals) > 0 {
		status := s.refusals[0]
		if s.refusals = s.refusals[1:]; status != 0 {
			s.stream = func(w http.ResponseWriter, _ *http.Request) { problem(w, status, "As the test wants it.") }
			return s.service.RoundTrip(r)
		}
	}
	from := len(s.events)
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		from, _ = strconv.Atoi(id)
	}
	missed := slices.Clone(s.events[from:])
	body, pipe := io.Pipe()
	s.open = append(s.open, pipe)
	context.AfterFunc(r.Context(), func() { s.close(pipe, r.Context().Err()) })
	go func() {
		for i, event := range missed {
			_, _ = io.WriteString(pipe, frame(from+i+1, event))
		}
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {sse}}, Body: body, Request: r}, nil
}

func (s *eventSource) close(pipe *io.PipeWriter, err error) {
	_ = pipe.CloseWithError(err) // first, because it ends a write
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(p *io.PipeWriter) bool { return p == pipe })
}

// list returns pages of two events, oldest first.
func (s *eventSource) list(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	since, err := time.Parse(time.RFC3339Nano, r.URL.Query().Get("since"))
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	found := slices.DeleteFunc(slices.Clone(s.events), func(e gen.EventRecord) bool { return e.CreatedAt.Before(since) })
	page := gen.EventList{Data: found[from:min(from+2, len(found))]}
	if from+2 < len(found) {
		page.NextCursor = new(strconv.Itoa(from + 2))
	}
	listed := s.listed
	s.listed = nil
	s.mu.Unlock()
	if listed != nil {
		listed()
	}
	body, _ := json.Marshal(page)
	return err == nil && answerJSON(w, http.StatusOK, string(body))
}

// set changes an avatar and sends an event.
func (s *eventSource) set(id, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses[id] = status
	event := gen.EventRecord{
		EventID: fmt.Sprint("event-", len(s.events)+1), CreatedAt: time.Now().Add(time.Duration(len(s.events)) * time.Microsecond),
		Notification: gen.Event{EventType: gen.EventTypeAvatar, Data: fmt.Appendf(nil, `{"avatar_id":%q,"status":%q}`, id, status)},
	}
	s.events = append(s.events, event)
	s.send(frame(len(s.events), event))
}

// frame returns an event in the stream.
func frame(id int, event gen.EventRecord) string {
	data, _ := json.Marshal(event)
	return fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", id, event.Notification.EventType, data)
}

// send sends an event. s.mu must be held.
func (s *eventSource) send(event string) {
	for _, pipe := range s.open {
		_, _ = io.WriteString(pipe, event)
	}
}

// change calls f, which may change the fields.
func (s *eventSource) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *eventSource) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pipe := range s.open {
		_ = pipe.CloseWithError(io.ErrUnexpectedEOF)
	}
	s.open = nil
}

// shutDown ends the streams properly.
func (s *eventSource) shutDown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pipe := range s.open {
		_ = pipe.Close()
	}
	s.open = nil
}

// counts returns how many streams are open and how many requests for streams and for avatars there were.
func (s *eventSource) counts() (open, streams, polls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open), len(s.after), s.polls
}

// inBubble runs a test with a client of an eventSource.
func inBubble(t *testing.T, test func(t *testing.T, s *eventSource, c *client.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newEventSource()
		s.set("id", "processing")
		test(t, s, newClient(t, static, func(c *client.Config) { c.HTTPClient = &http.Client{Transport: s} }))
	})
}

// All waits of a client share one stream, which closes with the last of them.
func TestWait_sharesOneStream(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *eventSource, c *client.Client) {
		const waits = 1000
		for i := range waits {
			s.set(fmt.Sprint(i), "processing")
		}
		time.AfterFunc(10*time.Second, func() {
			for i := range waits {
				s.set(fmt.Sprint(i), "published")
			}
		})
		start := time.Now()
		var waiting sync.WaitGroup
		for i := range waits {
			waiting.Go(func() {
				if _, err := c.WaitAvatar(t.Context(), fmt.Sprint(i)); err != nil || time.Since(start) != 10*time.Second {
					t.Errorf("error %v after %v", err, time.Since(start))
				}
			})
		}
		waiting.Wait()
		synctest.Wait()
		if open, streams, polls := s.counts(); open != 0 || streams != 1 || polls != 2*waits {
			t.Errorf("%d streams of %d are open, %d polls", open, streams, polls)
		}
	})
}

// No event is missed between the first poll and the stream, nor during a cut.
func TestWait_missesNoEvent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		happens func(s *eventSource)
		took    time.Duration // at most
		after   []string
	}{
		"a cut":                {func(s *eventSource) { s.set("other", "failed"); synctest.Wait(); s.cut(); s.set("id", "published") }, time.Second, []string{"", "2"}},
		"a cut without events": {func(s *eventSource) { s.cut(); s.set("id", "published") }, time.Second, []string{"", ""}},
		"a shutdown":           {func(s *eventSource) { s.shutDown(); s.set("id", "published") }, time.Second, nil},
		"a restart": {func(s *eventSource) {
			s.set("other", "failed")
			synctest.Wait()
			s.change(func() { s.refusals = slices.Repeat([]int{503}, 5) })
			s.cut()
			s.set("id", "published")
		}, 5 * time.Second, nil},
		"an older position": {func(s *eventSource) {
			s.change(func() {
				s.statuses["id"] = "published"
				s.send("id: 1\nevent: events_expired\ndata: {\"retained_since\":\"2026-01-12T09:30:00Z\"}\n\n")
			})
		}, time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, s *eventSource, c *client.Client) {
				changes := time.Now().Add(30 * time.Second)
				time.AfterFunc(30*time.Second, func() { test.happens(s) })
				if _, err := c.WaitAvatar(t.Context(), "id"); err != nil || time.Since(changes) > test.took {
					t.Errorf("error %v after %v", err, time.Since(changes))
				}
				if test.after != nil && !slices.Equal(s.after, test.after) {
					t.Errorf("streams after %q", s.after)
				}
			})
		})
	}
}

// A service without the stream is polled as often as before. The refusal is remembered.
func TestWait_pollsWithoutAStream(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 405, 429, 501, 500} {
		inBubble(t, func(t *testing.T, s *eventSource, c *client.Client) {
			s.refusals = slices.Repeat([]int{status}, 100)
			time.AfterFunc(50*time.Second, func() { s.set("id", "published") })
			start := time.Now()
			_, err := c.WaitAvatar(t.Context(), "id", client.WithRetry(client.Retry{Attempts: 1}))
			if took := time.Since(start); err != nil || took > time.Minute {
				t.Errorf("%d: error %v after %v", status, err, took)
			}
			_, first, polls := s.counts()
			if first > 4 || polls < 9 || polls > 20 {
				t.Errorf("%d: %d requests for the stream, %d polls", status, first, polls)
			}
			if _, err := c.WaitAvatar(t.Context(), "id"); err != nil {
				t.Errorf("%d: %v", status, err)
			}
			if _, streams, _ := s.counts(); streams != first {
				t.Errorf("%d: the refusal is forgotten", status)
			}
			s.change(func() { s.refusals = nil })
			s.set("id", "processing")
			time.AfterFunc(time.Hour, func() { s.set("id", "failed") })
			start = time.Now()
			if _, err := c.WaitAvatar(t.Context(), "id"); err != nil || time.Since(start) != time.Hour {
				t.Errorf("%d: error %v after %v", status, err, time.Since(start))
			}
		})
	}
}

// A stream that does not begin delays a wait by two seconds, and later ones not at all.
func TestWait_pollsIfTheStreamDoesNotBegin(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *eventSource, c *client.Client) {
		s.held = time.Hour
		s.set("id", "published")
		for _, want := range []time.Duration{2 * time.Second, 0} {
			start := time.Now()
			if _, err := c.WaitAvatar(t.Context(), "id"); err != nil || time.Since(start) != want {
				t.Errorf("error %v after %v", err, time.Since(start))
			}
		}
	})
}

// A stream that begins late is used, by later waits too.
func TestWait_usesAStreamThatBeginsLate(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *eventSource, c *client.Client) {
		s.held = 5 * time.Second
		for n := range 2 {
			id := fmt.Sprint("id-", n)
			s.set(id, "processing")
			start := time.Now()
			time.AfterFunc(8*time.Second, func() { s.set(id, "published") })
			if _, err := c.WaitAvatar(t.Context(), id); err != nil || time.Since(start) != 8*time.Second {
				t.Errorf("error %v after %v", err, time.Since(start))
			}
			if _, streams, _ := s.counts(); streams != n+1 {
				t.Errorf("%d requests for streams", streams)
			}
			s.held = 0
		}
	})
}

// A wait for an avatar that is deleted ends with the next poll.
func TestWait_endsAfterADeletion(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *eventSource, c *client.Client) {
		time.AfterFunc(time.Second, func() {
			s.change(func() { delete(s.statuses, "id") })
		})
		start := time.Now()
		if _, err := c.WaitAvatar(t.Context(), "id"); !errors.Is(err, client.ErrNotFound) || time.Since(start) > 31*time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
	})
}

// A stream would take the only connection that a transport may have.
func TestWait_opensNoStreamWithOneConnection(t *testing.T) {
	t.Parallel()
	s := newService()
	s.stream = func(http.ResponseWriter, *http.Request) { t.Error("a stream was opened") }
	c := s.start(t, static, func(c *client.Config) {
		c.HTTPClient = &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1, DisableKeepAlives: true}}
	})
	if _, err := c.WaitAvatar(t.Context(), avatarID); err != nil {
		t.Error(err)
	}
}
