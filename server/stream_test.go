package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

const streamsDocument = `{"openapi": "3.2.0", "info": {"title": "T", "version": "1"}, "paths": {"/p": {"get": {
	"operationId": "watch", "responses": {"200": {"description": "D",
		"headers": {"X-Length": {"schema": {"type": "integer"}}},
		"content": {
			"application/jsonl": {"itemSchema": {"type": "string", "maxLength": 2}},
			"text/event-stream": {"itemSchema": {"properties": {"event": {"const": "a"}, "data": {
				"type": "string", "contentMediaType": "application/json", "contentSchema": {"type": "string", "maxLength": 2}}}}}}}}}}}}`

// streamer is an implementation whose operation responds with a stream.
type streamer struct {
	mediaType, length string
	items             func(context.Context, func(string, error) bool)
}

// serve does what the generated code does.
func (s *streamer) serve(cfg *Config) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { //nolint:contextcheck // the context of Open is derived from that of r
		w, r, stop := stream.Open(w, r)
		defer stop()
		ctx := r.Context()
		headers := func(header http.Header) error { header.Set("X-Length", s.length); return nil }
		var items iter.Seq2[string, error] = func(yield func(string, error) bool) { s.items(ctx, yield) }
		var err error
		if s.mediaType == "application/jsonl" {
			err = stream.Send(w, http.StatusOK, s.mediaType, items, headers)
		} else {
			err = stream.SendEvents(w, http.StatusOK, s.mediaType, func(yield func(stream.Event[any], error) bool) {
				for item, err := range items {
					if !yield(stream.Event[any]{Event: "a", Data: item}, err) {
						return
					}
				}
			}, headers)
		}
		if err != nil {
			cfg.writeError(w, r, err)
		}
	}
}

// do returns the body of the response, and what was logged.
func (s *streamer) do(t *testing.T, check bool) (status int, body, log string, err error) {
	t.Helper()
	validator := harness.Try(validate.Load([]byte(streamsDocument), validate.Config{}))(t)
	var logged bytes.Buffer
	counted := make(chan Response, 1)
	cfg := Config{
		ValidateResponses: check, Logger: slog.New(slog.NewTextHandler(&logged, nil)),
		OnResponse: func(_ context.Context, r Response) { counted <- r },
	}
	handler, err := newHandler(cfg, validator, func(router *router) { router.HandleFunc("GET /p", s.serve(&cfg)) })
	harness.Check(t, err)
	server := httptest.NewServer(handler)
	defer server.Close()
	response := get(t, server)
	text, err := io.ReadAll(response.Body)
	if r := <-counted; r.Status != response.StatusCode || r.OperationID != "watch" {
		t.Errorf("counted %+v", r)
	}
	return response.StatusCode, string(text), logged.String(), err
}

func TestStreams_checkEachItem(t *testing.T) {
	t.Parallel()
	for mediaType, item := range map[string]func(string) string{
		"application/jsonl": func(s string) string { return `"` + s + "\"\n" },
		"text/event-stream": func(s string) string { return "event: a\ndata: \"" + s + "\"\n\n" },
	} {
		s := &streamer{mediaType: mediaType, length: "3", items: func(_ context.Context, yield func(string, error) bool) {
			_ = yield("a", nil) && yield("abc", nil) && yield("b", nil)
		}}
		for check, want := range map[bool]string{
			false: item("a") + item("abc") + item("b"),
			true:  item("a"),
		} {
			status, body, log, err := s.do(t, check)
			rest, ok := strings.CutPrefix(body, want)
			if status != http.StatusOK || !ok || err != nil || strings.Contains(rest, `"status":500`) != check {
				t.Errorf("%t: %d %q, %v", check, status, body, err)
			}
			if strings.Contains(log, "does not match the document") != check || strings.Contains(rest, "maxLength") {
				t.Errorf("%t: logged %s, sent %q", check, log, rest)
			}
		}
	}
}

func TestStreams_endWithAnError(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err                error
		body, log, neither string
	}{
		{&Error{Status: http.StatusConflict, Code: "late"}, `"code":"late"`, "bytes=", "level=ERROR"},
		{errors.New("secret"), `"status":500`, "err=secret", "secret"},
		{stream.ErrShutdown, `"status":503`, "bytes=", "level=ERROR"},
	} {
		s := &streamer{mediaType: "text/event-stream", length: "3", items: func(_ context.Context, yield func(string, error) bool) {
			yield("", test.err)
		}}
		status, body, log, err := s.do(t, true)
		s.length = "x" // does not match the document, which prevents the stream
		if prevented, _, _, _ := s.do(t, true); prevented != http.StatusInternalServerError {
			t.Errorf("with a wrong header: %d", prevented)
		}
		if status != http.StatusOK || err != nil || !strings.HasPrefix(body, "event: error\ndata: {") || !strings.Contains(body, test.body) ||
			!strings.Contains(log, test.log) || strings.Contains(body, test.neither) {
			t.Errorf("%v: %d %q, %v, logged %s", test.err, status, body, err, log)
		}
	}
}

// A panic of an iterator aborts the connection.
func TestStreams_abortAfterAPanic(t *testing.T) {
	t.Parallel()
	s := &streamer{mediaType: "application/jsonl", length: "3", items: func(_ context.Context, yield func(string, error) bool) {
		yield("a", nil)
		panic("oh")
	}}
	status, body, log, err := s.do(t, false)
	if status != http.StatusOK || body != "\"a\"\n" || !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(log, "msg=panic") || !strings.Contains(log, "status=200 bytes=4 ") {
		t.Errorf("%d %q, %v, logged %s", status, body, err, log)
	}
}
