package server_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

// OnAnswer is called once for each request, whatever its outcome.
func TestHandler_callsOnAnswerForEachRequest(t *testing.T) {
	t.Parallel()
	var got []server.Answer
	var login error
	handler, _ := setup(t, service{login: func(context.Context, gen.LoginRequestObject) (gen.LoginResponseObject, error) {
		if login == nil {
			panic("out of luck")
		}
		return nil, login
	}}, func(cfg *server.Config) {
		cfg.OnAnswer = func(ctx context.Context, a server.Answer) {
			if got = append(got, a); server.RequestID(ctx) == "" {
				t.Errorf("the context of %+v is not that of the request", a)
			}
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
		{"POST", "/users/login", `{"email":"a","password":"b"}`, &server.Error{Status: 429}, "login", 429, nil},
		{"POST", "/users/login", `{"email":"a","password":"b"}`, nil, "login", 500, nil}, // panics
		{"POST", "/users/login", `{"email":7}`, nil, "login", 400, []string{"type", "required"}},
		{"GET", "/projects/v2", "", nil, "listProjects", 401, nil},
		{"DELETE", "/users/login", "", nil, "", 405, nil},
		{"GET", "/nowhere", "", nil, "", 404, nil},
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
