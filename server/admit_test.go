package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
)

// unread fails the test if it is read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body is read")
	return 0, io.EOF
}

// Requests are rejected after authentication and before their bodies are read.
func TestAdmit_runsBeforeTheBodyIsRead(t *testing.T) {
	t.Parallel()
	var asked []string
	handler, logged := setup(t, server.Unimplemented{}, func(cfg *server.Config) {
		cfg.Admit = func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				caller, _ := server.PrincipalFrom(r.Context())
				asked = append(asked, server.OperationID(r.Context())+" "+caller.UserID)
				server.WriteProblem(w, r, &server.Error{
					Status: http.StatusTooManyRequests, RetryAfter: time.Second,
					Header: http.Header{"Ratelimit": {`"reads";r=0`}, "Content-Type": {"text/plain"}},
				})
			})
		}
	})
	var response *httptest.ResponseRecorder
	for token, status := range map[string]int{"bad": 401, "good": 429} {
		request := httptest.NewRequest("POST", "/v1/avatars/create_avatar", unread{t})
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+token)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if problem(t, answer, status); token == "good" {
			response = answer
		}
	}
	if got := response.Header(); got.Get("Ratelimit") != `"reads";r=0` || got.Get("Retry-After") != "1" {
		t.Errorf("the answer has the headers %v", got)
	}
	if len(asked) != 1 || asked[0] != "createAvatar ada" {
		t.Errorf("admission was asked for %q", asked)
	}
	if !strings.Contains(logged.String(), `"ada"`) {
		t.Errorf("the log does not say whose request it is: %s", logged)
	}
}
