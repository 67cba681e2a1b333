package stream_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/api/tools/harness/faultserver"
)

type thing struct {
	N int `json:"n"`
}

type things = iter.Seq2[stream.Event[thing], error]

var errBroken = errors.New("broken")

// sends returns a handler that sends what the generated code would send for the iterator.
func sends(mediaType string, items func(ctx context.Context) things) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w, r, stop := stream.Open(w, r)
		defer stop()
		var err error
		if all := items(context.WithValue(r.Context(), writerKey{}, w)); mediaType == sse { //nolint:contextcheck // derived from that of the request
			err = stream.SendEvents(w, http.StatusOK, mediaType, all, nil)
		} else {
			err = stream.Send(w, http.StatusOK, mediaType, func(yield func(thing, error) bool) {
				for event, err := range all {
					if !yield(event.Data, err) {
						return
					}
				}
			}, nil)
		}
		if err != nil && !stream.Fail(w, []byte(err.Error())) {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
}

// writerKey is the key of the ResponseWriter in the context of an iterator.
type writerKey struct{}

// untilDone is an iterator that waits for the end of its context and tells it to ended.
func untilDone(ended chan<- error) func(context.Context) things {
	return func(ctx context.Context) things {
		return func(yield func(stream.Event[thing], error) bool) {
			yield(stream.Event[thing]{}, nil)
			<-ctx.Done()
			ended <- context.Cause(ctx)
		}
	}
}

func get(t *testing.T, client *http.Client, url string) *http.Response {
	t.Helper()
	response := harness.Try(client.Do(harness.Try(http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody))(t)))(t)
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func TestSend_sendsEachFormat(t *testing.T) {
	t.Parallel()
	const problem = `{"status":500,"title":"broken"}`
	for mediaType, want := range map[string]struct{ items, failure string }{
		sse:                    {"id: 7\nevent: new\nretry: 2000\ndata: {\"n\":1}\n\ndata: {\"n\":2}\n\n", "event: error\ndata: " + problem + "\n\n"},
		lines:                  {"{\"n\":1}\n{\"n\":2}\n", `{"error":` + problem + "}\n"},
		"application/x-ndjson": {"{\"n\":1}\n{\"n\":2}\n", `{"error":` + problem + "}\n"},
	} {
		for _, err := range []error{nil, errBroken} {
			server := httptest.NewServer(sends(mediaType, func(context.Context) things {
				return func(yield func(stream.Event[thing], error) bool) {
					_ = yield(stream.Event[thing]{ID: "7", Event: "new", Retry: 2 * time.Second, Data: thing{1}}, nil) &&
						yield(stream.Event[thing]{Data: thing{2}}, nil) && err != nil && yield(stream.Event[thing]{}, err)
				}
			}))
			response := get(t, server.Client(), server.URL)
			text, readErr := io.ReadAll(response.Body)
			server.Close()
			got := string(text)
			if response.Header.Get("Content-Type") != mediaType {
				t.Errorf("Content-Type is %s", response.Header.Get("Content-Type"))
			}
			end := ""
			if err != nil {
				end = want.failure
			}
			if got != want.items+end || readErr != nil {
				t.Errorf("%s with %v is %q, %v", mediaType, err, got, readErr)
			}
			if response.Header.Get("Cache-Control") != "no-store" || response.Header.Get("X-Accel-Buffering") != "no" {
				t.Errorf("a proxy may hold items back: %v", response.Header)
			}
		}
	}
}

// A stream without an iterator is empty, and no heartbeat comes after its end.
func TestSend_sendsNothingWithoutAnIterator(t *testing.T) {
	t.Parallel()
	for mediaType, send := range map[string]func(http.ResponseWriter) error{
		lines: func(w http.ResponseWriter) error { return stream.Send[thing](w, http.StatusOK, lines, nil, nil) },
		sse:   func(w http.ResponseWriter) error { return stream.SendEvents[thing](w, http.StatusOK, sse, nil, nil) },
	} {
		synctest.Test(t, func(t *testing.T) {
			recorder := httptest.NewRecorder()
			w, _, stop := stream.Open(recorder, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
			harness.Check(t, send(w))
			stop()
			time.Sleep(2 * stream.Heartbeat)
			if got := recorder.Body.String(); got != "" {
				t.Errorf("%s is %q", mediaType, got)
			}
		})
	}
}

// The client has the header before the first item, and each item before the next.
func TestSend_waitsForNothing(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	server := httptest.NewServer(sends(lines, func(context.Context) things {
		return func(yield func(stream.Event[thing], error) bool) {
			for i := range 3 {
				<-next
				yield(stream.Event[thing]{Data: thing{i}}, nil)
			}
		}
	}))
	t.Cleanup(server.Close)
	body := bufio.NewReader(get(t, server.Client(), server.URL).Body)
	for _, want := range []string{"{\"n\":0}\n", "{\"n\":1}\n", "{\"n\":2}\n"} {
		next <- struct{}{}
		if line, err := body.ReadString('\n'); line != want || err != nil {
			t.Errorf("%q, %v", line, err)
		}
	}
}

func TestSend_endsWhenTheClientDisconnects(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	server := httptest.NewServer(sends(lines, untilDone(ended)))
	t.Cleanup(server.Close)
	_ = get(t, server.Client(), server.URL).Body.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestSend_endsWhenTheServerShutsDown(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 2)
	server := httptest.NewServer(sends(lines, untilDone(ended)))
	t.Cleanup(server.Close)
	first, second := get(t, server.Client(), server.URL), get(t, server.Client(), server.URL)
	harness.Check(t, server.Config.Shutdown(t.Context()))
	for _, response := range []*http.Response{first, second} {
		if err := <-ended; !errors.Is(err, stream.ErrShutdown) {
			t.Error(err)
		}
		text, err := io.ReadAll(response.Body)
		if want := "{\"n\":0}\n{\"error\":{\"status\":500,\"title\":\"" + stream.ErrShutdown.Error() + "\"}}\n"; string(text) != want || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	}
}

// A stream whose context ends for another reason is not taken for complete. Whoever does not know Fail must not write
// into a stream.
func TestSend_isCut(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	for name, handler := range map[string]http.HandlerFunc{
		"canceled": func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithCancel(r.Context())
			cancel()
			sends(lines, untilDone(ended)).ServeHTTP(w, r.WithContext(ctx))
		},
		"another response": func(w http.ResponseWriter, r *http.Request) {
			w, _, stop := stream.Open(w, r)
			defer stop()
			err := stream.Send(w, http.StatusOK, lines, func(yield func(thing, error) bool) { yield(thing{}, errBroken) }, nil)
			http.Error(w, err.Error(), http.StatusInternalServerError)
		},
	} {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		text, err := io.ReadAll(get(t, server.Client(), server.URL).Body)
		if !errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(string(text), errBroken.Error()) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// A layer around may abort the connection, at the header, an item, a heartbeat and a problem.
func TestSend_endsIfALayerAborts(t *testing.T) {
	t.Parallel()
	for flush := 1; flush <= 4; flush++ {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if reason := recover(); reason != http.ErrAbortHandler {
					t.Errorf("flush %d: %v", flush, reason)
				}
			}()
			ctx, cancel := context.WithTimeout(t.Context(), stream.Heartbeat+time.Second)
			defer cancel()
			sends(sse, untilDone(make(chan error, 1))).ServeHTTP(&aborting{httptest.NewRecorder(), flush}, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody))
		})
	}
}

type aborting struct {
	http.ResponseWriter

	flushes int
}

func (a *aborting) Flush() {
	if a.flushes--; a.flushes == 0 {
		panic(http.ErrAbortHandler)
	}
}

func TestSend_sendsNoItemsToHead(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(sends(sse, untilDone(nil)))
	t.Cleanup(server.Close)
	response := harness.Try(server.Client().Do(harness.Try(http.NewRequestWithContext(t.Context(), http.MethodHead, server.URL, http.NoBody))(t)))(t)
	if _ = response.Body.Close(); response.Header.Get("Content-Type") != sse {
		t.Errorf("%v", response.Header)
	}
}

func TestSend_sendsNothingIfTheHeadersFail(t *testing.T) {
	t.Parallel()
	w, _, stop := stream.Open(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	defer stop()
	err := stream.Send(w, http.StatusOK, lines, iter.Seq2[thing, error](nil), func(http.Header) error { return errBroken })
	if !errors.Is(err, errBroken) || stream.Fail(w, nil) {
		t.Errorf("%v", err)
	}
}

func TestSendEvents_sendsText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		event stream.Event[string]
		want  string
	}{
		{stream.Event[string]{Data: "a\nb\r\nc\rd"}, "data: a\ndata: b\ndata: c\ndata: d\n\n"},
		{stream.Event[string]{Data: ""}, "data: \n\n"},
		{stream.Event[string]{ID: "a", IDOnly: true, Data: "b"}, "id: a\n\n"},
		{stream.Event[string]{ID: "a\nb"}, "event: error\n"},
		{stream.Event[string]{ID: "a\nb", IDOnly: true}, "event: error\n"},
		{stream.Event[string]{ID: "\x00"}, "event: error\n"},
		{stream.Event[string]{Event: "a\rb"}, "event: error\n"},
		{stream.Event[string]{Retry: -time.Second}, "event: error\n"},
	} {
		recorder := httptest.NewRecorder()
		w, _, stop := stream.Open(recorder, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		err := stream.SendEvents(w, http.StatusOK, sse, func(yield func(stream.Event[string], error) bool) { yield(test.event, nil) }, nil)
		if err != nil {
			stream.Fail(w, []byte("{}"))
		}
		stop()
		if got := recorder.Body.String(); !strings.HasPrefix(got, test.want) || test.event.IDOnly && strings.Contains(got, "data: b") {
			t.Errorf("%+v is sent as %q", test.event, got)
		}
	}
}

// inBubble sends a request for a stream with HTTP/1 or HTTP/2. The iterator tells ended why its context has ended.
func inBubble(t *testing.T, version int, mediaType string, items func(ended chan<- error) func(context.Context) things, test func(t *testing.T, body io.Reader, ended <-chan error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		listener, ended := faultserver.NewPipe(), make(chan error, 1)
		server := &http.Server{Handler: sends(mediaType, items(ended)), ReadTimeout: time.Minute, WriteTimeout: time.Minute}
		protocols := new(http.Protocols)
		protocols.SetHTTP1(version == 1)
		protocols.SetUnencryptedHTTP2(version == 2)
		server.Protocols = protocols
		go func() { _ = server.Serve(listener) }()
		transport := &http.Transport{Protocols: protocols, DialContext: listener.DialContext}
		response := get(t, &http.Client{Transport: transport}, "http://service")
		test(t, response.Body, ended)
		_ = response.Body.Close()
		transport.CloseIdleConnections()
		_ = server.Close()
	})
}

// A silent stream sends what readers ignore, also long after the timeouts of the server.
func TestSend_keepsSilentConnectionsOpen(t *testing.T) {
	t.Parallel()
	for mediaType, want := range map[string]string{sse: ":\n\n", lines: "\n"} {
		test := func(t *testing.T, body io.Reader, ended <-chan error) {
			began := time.Now()
			text := make([]byte, 1<<10)
			if _, err := body.Read(text); err != nil {
				t.Error(err)
			}
			for i := range 10 {
				n, err := body.Read(text)
				if string(text[:n]) != want || err != nil || time.Since(began) != time.Duration(i+1)*stream.Heartbeat {
					t.Errorf("after %v: %q, %v", time.Since(began), text[:n], err)
				}
			}
			if len(ended) > 0 {
				t.Errorf("%s ended: %v", mediaType, <-ended)
			}
		}
		inBubble(t, 1, mediaType, untilDone, test)
		inBubble(t, 2, mediaType, untilDone, test)
	}
}

// Another goroutine can end a stream. The client is told why, also if the iterator notices the end seconds later. A
// client that reads nothing delays the end by a second only.
func TestEnd_endsAStream(t *testing.T) {
	t.Parallel()
	const after = 10 * time.Second
	item := stream.Event[thing]{ID: strings.Repeat("1", 64<<10)} // few of them fill the 4 MB that HTTP/2 sends unread
	items := func(pause time.Duration) func(chan<- error) func(context.Context) things {
		return func(ended chan<- error) func(context.Context) things {
			return func(ctx context.Context) things {
				time.AfterFunc(after, func() { stream.End(ctx.Value(writerKey{}).(http.ResponseWriter), errBroken) })
				return func(yield func(stream.Event[thing], error) bool) {
					for yield(item, nil) {
						time.Sleep(pause)
					}
					ended <- context.Cause(ctx)
				}
			}
		}
	}
	for version := 1; version <= 2; version++ {
		inBubble(t, version, sse, items(4*time.Second), func(t *testing.T, body io.Reader, ended <-chan error) {
			text, err := io.ReadAll(body)
			if !strings.HasSuffix(string(text), "event: error\ndata: {\"status\":500,\"title\":\"broken\"}\n\n") || err != nil {
				t.Errorf("HTTP/%d: %q, %v", version, text, err)
			}
			if err := <-ended; !errors.Is(err, errBroken) {
				t.Error(err)
			}
		})
		inBubble(t, version, sse, items(0), func(t *testing.T, _ io.Reader, ended <-chan error) {
			began := time.Now()
			if err := <-ended; !errors.Is(err, errBroken) || time.Since(began) != after+time.Second {
				t.Errorf("HTTP/%d: after %v: %v", version, time.Since(began), err)
			}
		})
	}
}

func TestSend_endsWhenAWriteStalls(t *testing.T) {
	t.Parallel()
	endless := func(ended chan<- error) func(context.Context) things {
		return func(ctx context.Context) things {
			return func(yield func(stream.Event[thing], error) bool) {
				for yield(stream.Event[thing]{}, nil) {
				}
				ended <- context.Cause(ctx)
			}
		}
	}
	inBubble(t, 1, sse, endless, func(t *testing.T, _ io.Reader, ended <-chan error) {
		began := time.Now()
		if err := <-ended; !errors.Is(err, stream.ErrStalled) || time.Since(began) != stream.WriteTimeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
