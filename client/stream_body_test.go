package client_test

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/stream"
	"github.com/avatarstudio/avatarstudio/client"
)

func all[T any](items ...T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

func number(n *int) string { return strconv.Itoa(*n) }

// A request has the items in every format, and each range sends them again.
func TestStreamBody_sendsEveryFormat(t *testing.T) {
	t.Parallel()
	s := newConnections("application/jsonl", slices.Repeat([]string{"1\n"}, 10)...)
	c := s.start(t, static)
	for contentType, want := range map[string]string{
		"application/jsonl":    "{\"n\":1}\n{\"n\":2}\n",
		"application/x-ndjson": "{\"n\":1}\n{\"n\":2}\n",
		"application/json-seq": "\x1e{\"n\":1}\n\x1e{\"n\":2}\n",
		"multipart/mixed":      "{\"n\":1} {\"n\":2}",
	} {
		calls := client.SendItems(t.Context(), c, contentType, all(tick{1}, tick{2}))
		for range 2 {
			_, err := collect(calls, number)
			check(t, err)
			sent := s.seen[len(s.seen)-1]
			got := sent.body
			if given := sent.header.Get("Content-Type"); contentType == "multipart/mixed" {
				r, err := stream.NewReader(strings.NewReader(got), given, 100)
				check(t, err)
				first, _ := r.Next()
				got = string(first.Data)
				second, _ := r.Next()
				got += " " + string(second.Data)
			} else if given != contentType {
				t.Errorf("%s is sent as %s", contentType, given)
			}
			if got != want {
				t.Errorf("%s: %q", contentType, got)
			}
		}
	}
	_, err := collect(client.SendEvents(t.Context(), c, all(stream.Event[tick]{ID: "1", Event: "a", Retry: time.Second, Data: tick{1}})), number)
	check(t, err)
	_, err = collect(client.SendEvents(t.Context(), c, all(stream.Event[string]{Data: "a\nb"})), number)
	check(t, err)
	if got := s.seen[8].body + s.seen[9].body; got != "id: 1\nevent: a\nretry: 1000\ndata: {\"n\":1}\n\ndata: a\ndata: b\n\n" {
		t.Errorf("events are sent as %q", got)
	}
}

// serving returns an option for a client of a handler.
func serving(t *testing.T, handler http.HandlerFunc) func(*client.Config) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return func(c *client.Config) { c.BaseURL, c.HTTPClient = server.URL, server.Client() }
}

// Each item is sent when it is there, without a timeout, and items of the response may come before the last one. The
// caller stops the items with the range.
func TestStreamBody_sendsItemsAtOnce(t *testing.T) {
	t.Parallel()
	c := newClient(t, static, serving(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		w.Header().Set("Content-Type", "application/jsonl")
		_ = control.Flush()
		line := make([]byte, 100)
		for n, err := r.Body.Read(line); err == nil; n, err = r.Body.Read(line) {
			_, _ = w.Write(line[:n])
			_ = control.Flush()
		}
	}), func(c *client.Config) { c.Timeout = time.Nanosecond })
	received, ended := make(chan int, 1), make(chan struct{})
	items := func(yield func(int, error) bool) {
		defer close(ended)
		for n := 1; yield(n, nil); n++ {
			if last := <-received; last != n {
				t.Errorf("the response to %d is %d", n, last)
			}
		}
	}
	for n, err := range client.SendItems(t.Context(), c, "application/jsonl", items) {
		check(t, err)
		if *n == 5 {
			break
		}
		received <- *n
	}
	received <- 5
	<-ended
}

func TestStreamBody_sendsNoBodyWithoutItems(t *testing.T) {
	t.Parallel()
	s := newConnections("application/jsonl", "1\n")
	got, err := collect(client.SendItems[tick](t.Context(), s.start(t, static), "application/jsonl", nil), number)
	if sent := s.seen[len(s.seen)-1]; got != "1" || err != nil || sent.body != "" || sent.header.Get("Content-Type") != "" {
		t.Errorf("items %s, error %v, sent %+v", got, err, sent)
	}
}

// An error of the items, or an item that cannot be encoded, ends the request and is the error of the call.
func TestStreamBody_reportsErrors(t *testing.T) {
	t.Parallel()
	c := newClient(t, static, serving(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	failing := func(yield func(any, error) bool) { _ = yield(1, nil) && yield(nil, &json.UnsupportedTypeError{}) }
	for _, items := range []iter.Seq2[any, error]{failing, all[any](1, make(chan int))} {
		_, err := collect(client.SendItems(t.Context(), c, "application/jsonl", items), number)
		if !errors.As(err, new(*json.UnsupportedTypeError)) || !errors.Is(err, client.ErrOutcomeUnknown) {
			t.Errorf("error %v", err)
		}
	}
}
