package server_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

func TestWriteProblem_writesADocumentWithTheRequestID(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  *server.Error
		want map[string]any
	}{
		"nothing but a status": {
			&server.Error{Status: http.StatusUnprocessableEntity},
			map[string]any{"type": "about:blank", "title": "Unprocessable Entity", "status": 422.0, "code": "unprocessable_entity"},
		},
		"a status without a text": {
			&server.Error{Status: 499},
			map[string]any{"type": "about:blank", "title": "Error", "status": 499.0, "code": "error"},
		},
		"everything": {
			&server.Error{
				Status: http.StatusConflict, Code: "out_of_credit", Detail: "It costs 50.",
				Violations: []gen.Violation{{Pointer: "/title", Keyword: "text", Detail: "is too dear"}},
			},
			map[string]any{
				"type": "about:blank", "title": "Conflict", "status": 409.0, "code": "out_of_credit", "detail": "It costs 50.",
				"errors": []any{map[string]any{"pointer": "/title", "keyword": "text", "detail": "is too dear"}},
			},
		},
		"an apostrophe in its text": {
			&server.Error{Status: http.StatusTeapot},
			map[string]any{"type": "about:blank", "title": "I'm a teapot", "status": 418.0, "code": "im_a_teapot"},
		},
		"a status that is no error": {
			&server.Error{Status: 302, Code: "found"},
			map[string]any{
				"type": "about:blank", "title": "Internal Server Error", "status": 500.0, "code": "internal_server_error",
				"detail": "The service failed to process this request.",
			},
		},
		"no error": {
			nil,
			map[string]any{
				"type": "about:blank", "title": "Internal Server Error", "status": 500.0, "code": "internal_server_error",
				"detail": "The service failed to process this request.",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := httptest.NewRecorder()
			server.WriteProblem(answer, httptest.NewRequest(http.MethodGet, "/", http.NoBody), test.err)
			var got map[string]any
			if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
				t.Fatalf("%v: %s", err, answer.Body)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if answer.Code != int(got["status"].(float64)) || answer.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("status %d, header %v", answer.Code, answer.Header())
			}
		})
	}
}

// The log has the cause of each problem, at a level by the status.
func TestWriteProblem_logsTheCause(t *testing.T) {
	t.Parallel()
	for status, level := range map[int]string{400: "DEBUG", 409: "DEBUG", 500: "ERROR", 502: "ERROR", 503: "WARN"} {
		var log strings.Builder
		handler, _ := setup(t, server.Unimplemented{}, func(cfg *server.Config) {
			cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			cfg.Wrap = func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					server.WriteProblem(w, r, &server.Error{Status: status, Err: errBroken})
				})
			}
		})
		if p := problem(t, do(handler, "GET", "/", ""), status); !strings.Contains(log.String(), "level="+level) ||
			!strings.Contains(log.String(), "request_id="+*p.RequestID+" err=broken") {
			t.Errorf("%d: the log is %s", status, log.String())
		}
	}
}
