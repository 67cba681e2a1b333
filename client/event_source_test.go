package client_test

import (
	"context"
	"encoding/json"
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

// eventSource is a service with events and a stream of them. It works in a bubble of synctest.
type eventSource struct {
	*service

	mu       sync.Mutex
	events   []gen.EventRecord
	after    []string // Last-Event-ID of each request for the stream
	refusals []int    // statuses of the next responses to these requests; 0 opens the stream
	open     []*io.PipeWriter
	listed   func() // called once, after the first page of a list
}

func newEventSource() *eventSource {
	s := &eventSource{service: newService()}
	s.before = s.list
	return s
}

// RoundTrip opens the stream, or lets the service respond.
func (s *eventSource) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/v1/events/stream" {
		return s.service.RoundTrip(r)
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

// set sends an event of an avatar.
func (s *eventSource) set(id, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// streams returns how many streams are open.
func (s *eventSource) streams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
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
