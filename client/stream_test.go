package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/client"
)

const sse = "text/event-stream"

// tick is the data of the events in these tests.
type tick struct {
	N    int     `json:"n"`
	Note *string `json:"note,omitempty"`
}

// connections responds to each request to /stream with the next body, or with a status of three digits. A body that
// ends with "!" is cut off.
type connections struct {
	*service

	contentType string
	bodies      []string
	after       []string // Last-Event-ID of each request
}

func newConnections(contentType string, bodies ...string) *connections {
	c := &connections{service: newService(), contentType: contentType, bodies: bodies}
	c.before = c.serve
	return c
}

func (c *connections) serve(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != "/stream" {
		return false
	}
	c.after = append(c.after, r.Header.Get("Last-Event-ID"))
	body := "418"
	if len(c.bodies) > 0 {
		body, c.bodies = c.bodies[0], c.bodies[1:]
	}
	var status int
	if _, err := fmt.Sscanf(body, "%3d", &status); err == nil && len(body) == 3 {
		if status == http.StatusNoContent {
			w.WriteHeader(status)
		} else {
			problem(w, status, "As the test wants it.")
		}
		return true
	}
	w.Header().Set("Content-Type", c.contentType)
	text, cut := strings.CutSuffix(body, "!")
	_, _ = io.WriteString(w, text)
	if cut {
		panic(http.ErrAbortHandler)
	}
	return true
}

// event returns an event with the same id and data.
func event(n int) string { return fmt.Sprintf("id: %d\ndata: {\"n\":%d}\n\n", n, n) }

func collect[T any](items iter.Seq2[*T, error], show func(*T) string) (string, error) {
	var all []string
	for item, err := range items {
		if err != nil {
			return strings.Join(all, " "), err
		}
		all = append(all, show(item))
	}
	return strings.Join(all, " "), nil
}

func ticks(items iter.Seq2[*stream.Event[tick], error]) (string, error) {
	return collect(items, func(e *stream.Event[tick]) string { return fmt.Sprint(e.ID, "=", e.Data.N) })
}

func TestStreamEvents_givesEachEventOnce(t *testing.T) {
	t.Parallel()
	failed := func(status int) string {
		return fmt.Sprintf("event: error\ndata: {\"title\":\"Failed\",\"status\":%d,\"code\":\"why\"}\n\n", status)
	}
	for name, test := range map[string]struct {
		bodies []string
		want   string
		after  []string
		err    error
	}{
		"three cuts":                      {[]string{event(1) + event(2) + "!", "!", event(3) + "id: 4\ndata:!", event(4)}, "1=1 2=2 3=3 4=4", []string{"", "2", "2", "3"}, nil},
		"an id that returns later":        {[]string{event(1) + "!", event(2) + event(1)}, "1=1 2=2 1=1", []string{"", "1"}, nil},
		"an id without an event":          {[]string{event(1) + "id: 7\n\n!", event(8)}, "1=1 8=8", []string{"", "7"}, nil},
		"a half event at the end":         {[]string{event(1) + "id: 2\ndata: {}\n", event(2)}, "1=1 2=2", []string{"", "1"}, nil},
		"nothing more":                    {[]string{event(1) + "!", "204"}, "1=1", []string{"", "1"}, nil},
		"nothing at all":                  {[]string{"204"}, "", []string{""}, nil},
		"the service fails":               {[]string{event(1) + failed(503), "500", event(2)}, "1=1 2=2", []string{"", "1", "1"}, nil},
		"the service refuses to continue": {[]string{event(1) + failed(403) + event(2)}, "1=1", []string{""}, client.ErrForbidden},
		"the id is unknown":               {[]string{event(1) + "!", "404"}, "1=1", []string{"", "1"}, client.ErrNotFound},
		"four cuts without an event":      {[]string{event(1) + "!", "!", "!", "!", event(2)}, "1=1", []string{"", "1", "1", "1"}, client.ErrCut},
		"an event after each cut":         {[]string{event(1) + "!", "!", event(2) + "!", "!", "!", event(3) + "!", event(4)}, "1=1 2=2 3=3 4=4", []string{"", "1", "1", "2", "2", "2", "3"}, nil},
		"no id for an event":              {[]string{"data: {\"n\":1}\n\n!", event(2)}, "=1", []string{""}, client.ErrCut},
		"the id is taken back":            {[]string{event(1) + "id\n\n!", event(1)}, "1=1", []string{""}, client.ErrCut},
		"an id that no header can have":   {[]string{"id: \x01\ndata: {\"n\":1}\n\n!", event(1)}, "\x01=1", []string{""}, client.ErrCut},
		"an id that a header would trim":  {[]string{"id:  1\ndata: {\"n\":1}\n\n!", event(1)}, " 1=1", []string{""}, client.ErrCut},
		"another type":                    {[]string{event(1) + "id: 2\ndata: {\"n\":\"a\"}\n\n" + event(3)}, "1=1", []string{""}, client.ErrDecode},
		"no JSON":                         {[]string{event(1) + "id: 2\ndata: {\n\n", event(3)}, "1=1", []string{""}, client.ErrDecode},
		"too long a line":                 {[]string{event(1) + ":" + strings.Repeat("x", 2<<20) + "\n", event(3)}, "1=1", []string{""}, client.ErrDecode},
	} {
		s := newConnections(sse, test.bodies...)
		c := s.direct(t, static, fast)
		got, err := ticks(client.StreamEvents[tick](t.Context(), c, true))
		if got != test.want || !errors.Is(err, test.err) || !slices.Equal(s.after, test.after) {
			t.Errorf("%s: events %s after %q, error %v", name, got, s.after, err)
		}
	}
}

// Where the events have no ids, the client does not guess what was lost.
func TestStream_cutIsAnErrorWithoutIDs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		contentType, body string
		want              string
		err               error
	}{
		"cut events":       {sse, event(1) + "!", "1=1", client.ErrCut},
		"half an event":    {sse, event(1) + "data: {}\n", "1=1", stream.ErrTruncated},
		"cut lines":        {"application/jsonl", "{\"n\":1}\n{\"n\":2}\n!", "1 2", client.ErrCut},
		"half a line":      {"application/x-ndjson", "{\"n\":1}\n{\"n\"", "1", client.ErrCut},
		"a failure":        {"application/jsonl", "{\"n\":1}\n{\"error\":{\"title\":\"Failed\",\"status\":500}}\n", "1", client.ErrServer},
		"too long an item": {"application/jsonl", "{\"n\":1}\n\"" + strings.Repeat("x", 1<<20) + "\"\n", "1", client.ErrDecode},
		"another format":   {"application/json", "{}", "", client.ErrDecode},
	} {
		s := newConnections(test.contentType, test.body)
		c := s.direct(t, static, fast)
		var got string
		var err error
		if test.contentType == sse {
			got, err = ticks(client.StreamEvents[tick](t.Context(), c, false))
		} else {
			got, err = collect(client.StreamItems[tick](t.Context(), c, test.contentType), func(i *tick) string { return fmt.Sprint(i.N) })
		}
		if got != test.want || !errors.Is(err, test.err) || len(s.after) != 1 {
			t.Errorf("%s: items %s, %d requests, error %v", name, got, len(s.after), err)
		}
		if answer, ok := errors.AsType[*client.Error](err); ok && answer.Attempts != 1 {
			t.Errorf("%s: %d attempts", name, answer.Attempts)
		}
	}
}

// The token is renewed after each cut if the service rejects it then, or in an event.
func TestStreamEvents_renewsToken(t *testing.T) {
	t.Parallel()
	s := newConnections(sse, event(1)+"!", "401", event(2)+"!", "401", event(3)+"event: error\ndata: {\"status\":401}\n\n", event(4))
	got, err := ticks(client.StreamEvents[tick](t.Context(), s.direct(t, fast), true))
	if got != "1=1 2=2 3=3 4=4" || err != nil || s.count("POST /users/login")+s.count("POST /users/refresh") != 4 {
		t.Errorf("events %s, error %v, %d logins", got, err, s.count("POST /users/login"))
	}
	tokens := map[string]bool{}
	for _, request := range s.requests("GET /stream") {
		tokens[request.header.Get("Authorization")] = true
	}
	if len(tokens) != 4 {
		t.Errorf("the tokens are %v", tokens)
	}
}

// Each range sends a request. Leaving the range, or the end of the context, closes the connection.
func TestStream_endsWithTheRange(t *testing.T) {
	t.Parallel()
	s := newService()
	closed := make(chan struct{})
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", sse)
		_, _ = io.WriteString(w, strings.Replace(event(1), "{", `{"note":7,`, 1)+event(2))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		closed <- struct{}{}
		return true
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var response client.Response
	events := client.StreamEvents[tick](ctx, s.start(t, static, fast), true, client.WithResponse(&response))
	for range 2 {
		for _, err := range events {
			check(t, err)
			break
		}
		<-closed
	}
	if response.StatusCode != http.StatusOK || response.Attempts != 1 || !slices.Equal(response.LeftOut, []string{"/note"}) || s.count("GET /stream") != 2 {
		t.Errorf("response %+v, %d requests", response, s.count("GET /stream"))
	}
	got, err := collect(events, func(e *stream.Event[tick]) string {
		if e.Data.N == 2 {
			cancel()
		}
		return e.ID
	})
	if got != "1 2" || !errors.Is(err, context.Canceled) || errors.Is(err, client.ErrCut) {
		t.Errorf("events %s, error %v", got, err)
	}
	<-closed
}

// A response that begins after the timeout is none, even if the transport returns it.
func TestStream_doesNotBeginAfterTheTimeout(t *testing.T) {
	t.Parallel()
	c := newClient(t, static, once, func(c *client.Config) {
		c.Timeout = time.Nanosecond
		c.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return respond(http.StatusOK, http.Header{"Content-Type": {"application/jsonl"}}, "1\n"), nil
		})
	})
	got, err := collect(client.StreamItems[int](t.Context(), c, "application/jsonl"), number)
	if got != "" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("items %s, error %v", got, err)
	}
}

// quiet is a body that is silent for a time before each part, and after the last one until its context ends.
type quiet struct {
	ctx   context.Context
	parts []string
	pause time.Duration
}

func (q *quiet) Read(p []byte) (int, error) {
	if len(q.parts) > 0 {
		time.Sleep(q.pause)
		n := copy(p, q.parts[0])
		q.parts = q.parts[1:]
		return n, nil
	}
	<-q.ctx.Done()
	return 0, q.ctx.Err()
}

func (*quiet) Close() error { return nil }

func number(n *int) string { return strconv.Itoa(*n) }

// A stream may take as long as it likes, but a silent one is cut after a minute. The next request waits as long as the
// service asked last.
func TestStreamEvents_detectsSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parts := [][]string{{event(1), ":\n", "retry: 7000\n\n", event(2)}, {event(3), "retry: 3600000\n\n"}, {event(4)}}
		var times []time.Time
		c := newService().direct(t, static, func(config *client.Config) {
			config.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
				times = append(times, time.Now())
				if len(times) > len(parts) {
					return respond(http.StatusNoContent, http.Header{}, ""), nil
				}
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {sse}}, Body: &quiet{r.Context(), parts[len(times)-1], 50 * time.Second}}, nil
			})
		})
		got, err := ticks(client.StreamEvents[tick](t.Context(), c, true))
		if got != "1=1 2=2 3=3 4=4" || err != nil || len(times) != 4 {
			t.Fatalf("events %s, error %v", got, err)
		}
		// MaxDelay is 10 seconds.
		for i, want := range []time.Duration{4*50*time.Second + time.Minute + 7*time.Second, 2*50*time.Second + time.Minute + 10*time.Second, 50*time.Second + time.Minute + 10*time.Second} {
			if took := times[i+1].Sub(times[i]); took != want {
				t.Errorf("request %d comes after %v, want %v", i+2, took, want)
			}
		}
	})
}

// A stream may have no items for hours while a proxy ends its connections.
func TestStreamEvents_resumesSilentStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		c := newService().direct(t, static, func(config *client.Config) {
			config.Retry.Attempts = 2
			config.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
				if requests++; requests > 20 {
					return respond(http.StatusNoContent, http.Header{}, ""), nil
				}
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {sse}}, Body: &quiet{r.Context(), []string{":\n", "\n", ":\n"}, 15 * time.Second}}, nil
			})
		})
		if got, err := ticks(client.StreamEvents[tick](t.Context(), c, true)); got != "" || err != nil || requests != 21 {
			t.Errorf("%d requests, events %s, error %v", requests, got, err)
		}
	})
}
