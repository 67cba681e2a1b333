package server_test

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

// A 503 always has a Retry-After, and another response only if the error has one, however long.
func TestWriteProblem_writesADocument(t *testing.T) {
	t.Parallel()
	const internal = `{"code":"internal_server_error","detail":"The service failed to process this request.","status":500,"title":"Internal Server Error","type":"about:blank"}`
	for _, test := range []struct {
		err        *server.Error
		want       string
		retryAfter string
	}{
		{&server.Error{Status: 422}, `{"code":"unprocessable_entity","status":422,"title":"Unprocessable Entity","type":"about:blank"}`, ""},
		{&server.Error{Status: 499, Header: http.Header{"Retry-After": {"9"}}}, `{"code":"error","status":499,"title":"Error","type":"about:blank"}`, "9"}, // has no text
		{
			&server.Error{
				Status: 409, Code: "out_of_credit", Detail: "It costs 50.", RetryAfter: 1500 * time.Millisecond,
				Violations: []gen.Violation{{Pointer: "/title", Keyword: "text", Detail: "is too dear"}},
			},
			`{"code":"out_of_credit","detail":"It costs 50.","errors":[{"detail":"is too dear","keyword":"text","pointer":"/title"}],"status":409,"title":"Conflict","type":"about:blank"}`, "2",
		},
		{&server.Error{Status: 418, RetryAfter: math.MaxInt64}, `{"code":"im_a_teapot","status":418,"title":"I'm a teapot","type":"about:blank"}`, "9223372037"},
		{&server.Error{Status: 503}, `{"code":"service_unavailable","status":503,"title":"Service Unavailable","type":"about:blank"}`, "1"},
		{
			&server.Error{Status: 503, RetryAfter: -1, Header: http.Header{"Retry-After": {"60"}}},
			`{"code":"service_unavailable","status":503,"title":"Service Unavailable","type":"about:blank"}`, "60",
		},
		{&server.Error{Status: 302, Code: "found"}, internal, ""}, // is no error
		{nil, internal, ""},
	} {
		answer := httptest.NewRecorder()
		server.WriteProblem(answer, httptest.NewRequest(http.MethodGet, "/", http.NoBody), test.err)
		if answer.Body.String() != test.want || !strings.Contains(test.want, fmt.Sprintf(`"status":%d,`, answer.Code)) || answer.Header().Get("Retry-After") != test.retryAfter ||
			answer.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%v: %d %v %s", test.err, answer.Code, answer.Header(), answer.Body)
		}
	}
}

// The log has the cause of each problem, at a level by the status.
func TestWriteProblem_logsTheCause(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	status := 0
	handler, _ := setup(t, server.Unimplemented{}, func(cfg *server.Config) {
		cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		cfg.Wrap = func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				server.WriteProblem(w, r, &server.Error{Status: status, Err: errBroken})
			})
		}
	})
	for failed, level := range map[int]string{400: "DEBUG", 409: "DEBUG", 500: "ERROR", 502: "ERROR", 503: "WARN"} {
		status = failed
		log.Reset()
		if p := problem(t, do(handler, "GET", "/", ""), status); !strings.Contains(log.String(), "level="+level) ||
			!strings.Contains(log.String(), "request_id="+*p.RequestID+" err=broken") {
			t.Errorf("%d: the log is %s", status, log.String())
		}
	}
}
