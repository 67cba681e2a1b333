package server_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

// OnResponse is called once for each request, whatever its outcome.
func TestHandler_callsOnResponseForEachRequest(t *testing.T) {
	t.Parallel()
	var got []server.Response
	var login error
	handler, _ := setup(t, service{login: func(context.Context, gen.LoginRequestObject) (gen.LoginResponseObject, error) {
		if login == nil {
			panic("out of luck")
		}
		return nil, login
	}}, func(cfg *server.Config) {
		cfg.OnResponse = func(ctx context.Context, a server.Response) {
			if got = append(got, a); server.RequestID(ctx) == "" {
				t.Errorf("the context of %+v is not that of the request", a)
			}
		}
		cfg.Wrap = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if sent, ok := strings.CutPrefix(r.URL.Path, "/sends/"); !ok {
					next.ServeHTTP(w, r)
				} else if status := try(strconv.Atoi(sent))(t); status > 0 {
					w.WriteHeader(status)
				}
			})
		}
	})
	for _, test := range []struct {
		method, path, body string
		login              error
		operation          string
		status             int
		keywords           []string
	}{
		{"POST", "/users/login", `{"email":"a","password":"b"}`, errors.New("disk on fire"), "login", 500, nil},
		{"POST", "/users/login", `{"email":"a","password":"b"}`, nil, "login", 500, nil}, // panics
		{"POST", "/users/login", `{"email":7}`, nil, "login", 400, []string{"type", "required"}},
		{"GET", "/projects/v2", "", nil, "listProjects", 401, nil},
		{"DELETE", "/users/login", "", nil, "", 405, nil},
		{"GET", "/nowhere", "", nil, "", 404, nil},
		{"GET", "/sends/0", "", nil, "", 200, nil}, // nothing
		{"GET", "/sends/101", "", nil, "", 101, nil},
		{"GET", "/sends/1000", "", nil, "", 500, nil}, // panics
	} {
		got, login = nil, test.login
		do(handler, test.method, test.path, test.body)
		if len(got) != 1 {
			t.Fatalf("%s %s is told of %d times", test.method, test.path, len(got))
		}
		var keywords []string
		for _, v := range got[0].Violations {
			keywords = append(keywords, v.Keyword)
		}
		if got[0].OperationID != test.operation || got[0].Status != test.status || !slices.Equal(keywords, test.keywords) || got[0].Duration <= 0 {
			t.Errorf("%s %s %s: %+v, want %q, %d and %v", test.method, test.path, test.body, got[0], test.operation, test.status, test.keywords)
		}
	}
}

// A request that fails because the caller has disconnected is no failure of the service. One whose time is over is one.
func TestHandler_reportsNoFailureAfterADisconnect(t *testing.T) {
	t.Parallel()
	for failure, late := range map[error]bool{context.Canceled: false, server.Busy(0, context.Canceled): false, context.DeadlineExceeded: true} {
		ctx, disconnect := context.WithTimeout(t.Context(), map[bool]time.Duration{false: time.Hour}[late])
		var got server.Response
		handler, log := setup(t, service{getAvatar: func(ctx context.Context, _ string) (gen.GetAvatarResponseObject, error) {
			disconnect()
			<-ctx.Done()
			return nil, failure
		}}, func(cfg *server.Config) {
			cfg.OnResponse = func(_ context.Context, a server.Response) { got = a }
		})
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, details, http.NoBody)
		request.Header.Set("Authorization", "Bearer good")
		handler.ServeHTTP(httptest.NewRecorder(), request)
		if late != (got.Status == 500) || late == (got.Status == 0) || got.OperationID != "getAvatar" {
			t.Errorf("%v: %+v", failure, got)
		}
		if late == strings.Contains(log.String(), `"status":0`) || late != strings.Contains(log.String(), "request failed") {
			t.Errorf("the log is %s", log)
		}
	}
}
