package server

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// serveChecked serves handler as the only operation and checks its responses.
func serveChecked(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	validator, err := validate.Load([]byte(`{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {"/p": {"get": {
		"operationId": "get", "responses": {
			"200": {"description": "D", "headers": {"X-Length": {"required": true, "schema": {"type": "integer"}}},
				"content": {"video/*": {}, "text/event-stream": {}, "application/json": {"schema": {"type": "object"}}}},
			"204": {"description": "D"}}}}}}`), validate.Config{})
	harness.Check(t, err)
	operation, _ := validator.Operation("GET", "/p")
	logger := slog.New(slog.DiscardHandler)
	server := httptest.NewServer(&rootHandler{next: checkResponses(operation, handler), logger: logger})
	t.Cleanup(server.Close)
	return server
}

func get(t *testing.T, server *httptest.Server) *http.Response {
	t.Helper()
	r := harness.Try(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/p", nil))(t)
	response := harness.Try(server.Client().Do(r))(t)
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// An invalid response is detected before any of it is sent.
func TestCheckResponses_rejectsInvalidResponses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status                    int
		contentType, length, body string
		want                      int
	}{
		{200, "video/mp4", "1", "\xff", 200},
		{200, "video/mp4", "", "\xff", 500}, // the header is missing
		{200, "video/mp4", "x", "\xff", 500},
		{200, "image/png", "1", "\xff", 500},
		{201, "video/mp4", "1", "\xff", 500},
		{200, "application/json", "1", "{}", 200},
		{200, "application/json", "1", "[]", 500},
		{204, "", "", "", 204},
		{204, "application/json", "", "{}", 500},
	} {
		server := serveChecked(t, func(w http.ResponseWriter, _ *http.Request) {
			for name, value := range map[string]string{"Content-Type": c.contentType, "X-Length": c.length} {
				if value != "" {
					w.Header().Set(name, value)
				}
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		response := get(t, server)
		body := harness.Try(io.ReadAll(response.Body))(t)
		if response.StatusCode != c.want || c.want == 500 && strings.Contains(string(body), c.body) {
			t.Errorf("%+v: got %d %q", c, response.StatusCode, body)
		}
	}
}

// readerFrom is a connection that supports sendfile.
type readerFrom struct {
	*httptest.ResponseRecorder
	read     int64
	deadline time.Time
}

func (r *readerFrom) ReadFrom(body io.Reader) (n int64, err error) {
	n, err = io.Copy(r.ResponseRecorder, body)
	r.read += n
	return n, err
}

func (r *readerFrom) SetWriteDeadline(at time.Time) error {
	r.deadline = at
	return nil
}

// The ResponseWriters of all layers support Flush and deadlines, and without checks ReadFrom.
func TestResponseWriters_supportResponseController(t *testing.T) {
	t.Parallel()
	validator, err := validate.Load([]byte(`{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {"/p": {"get": {
		"operationId": "get", "responses": {"200": {"description": "D", "content": {"video/*": {}, "application/json": {}}}}}}}}`), validate.Config{})
	harness.Check(t, err)
	operation, _ := validator.Operation("GET", "/p")
	logger := slog.New(slog.DiscardHandler)
	for contentType, streamed := range map[string]bool{"video/mp4": true, "application/json": false} {
		inner := checkResponses(operation, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			if err := http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0)); err != nil {
				t.Error(err)
			}
			if n, err := io.WriteString(w, "{}"); n != 2 || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
			w.(http.Flusher).Flush()
		}))
		handler := &rootHandler{logger: logger, next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inner.ServeHTTP(&trackedResponse{ResponseWriter: w}, r)
			if x := exchangeFrom(r.Context()); x.status != http.StatusOK || x.bytes != 2 {
				t.Errorf("%s: status %d, %d bytes", contentType, x.status, x.bytes)
			}
		})}
		w := &readerFrom{ResponseRecorder: httptest.NewRecorder()}
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/p", nil))
		if w.Body.String() != "{}" || w.deadline.IsZero() || w.Flushed != streamed {
			t.Errorf("%s: body %q, deadline %v, flushed %t", contentType, w.Body, w.deadline, w.Flushed)
		}
	}
	w := &readerFrom{ResponseRecorder: httptest.NewRecorder()}
	(&rootHandler{logger: logger, next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.Copy(w, io.LimitReader(strings.NewReader("{}…"), 2))
	})}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/p", nil))
	if w.read != 2 {
		t.Errorf("%d bytes reach the connection by ReadFrom", w.read)
	}
}

// A request that the validator rejects while its body is being read gets the status of the rejection, even if
// the document does not declare that status. Other code that writes this status gets a 500.
func TestCheckResponses_sendsRejectionsWithUndeclaredStatus(t *testing.T) {
	t.Parallel()
	tooLarge := &validate.Error{Status: http.StatusRequestEntityTooLarge, Detail: "The body is too large."}
	for _, test := range []struct {
		err  error
		want int
	}{
		{fmt.Errorf("read: %w", tooLarge), http.StatusRequestEntityTooLarge},
		{&Error{Status: http.StatusRequestEntityTooLarge}, http.StatusInternalServerError},
	} {
		server := serveChecked(t, func(w http.ResponseWriter, r *http.Request) { writeProblem(w, r, test.err) })
		if response := get(t, server); response.StatusCode != test.want {
			t.Errorf("%v: got %d", test.err, response.StatusCode)
		}
	}
}
