package validate_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// A request is refused before next sees it, and by Security before its body is read.
func TestMiddleware_refuses(t *testing.T) {
	t.Parallel()
	const operations = `{"openapi": "3.1.0", "security": [{"key": []}, {"user": []}], "components": {"securitySchemes": {
			"key": {"type": "apiKey", "in": "query", "name": "key"}, "user": {"type": "http", "scheme": "basic"}}},
		"paths": {"/open": {"get": {"security": []}}, "/either": {"get": {"security": [{}, {"key": []}]}},
			"/closed": {"put": {"requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "integer"}}}}}}}}`
	type key struct{}
	denied := errors.New("the reason")
	check := func(err error) func(*http.Request, *validate.Operation) (context.Context, error) {
		return func(r *http.Request, o *validate.Operation) (context.Context, error) {
			if len(o.Security()) == 0 {
				t.Errorf("%s has no security", o.ID())
			}
			return context.WithValue(r.Context(), key{}, "ada"), err
		}
	}
	for _, test := range []struct {
		name                  string
		security              func(*http.Request, *validate.Operation) (context.Context, error)
		method, target, body  string
		status                int
		allow, challenge, err string
		caller                any
	}{
		{"public", nil, "GET", "/open", "", 204, "", "", "", nil},
		{"public with an alternative", nil, "GET", "/either", "", 204, "", "", "", nil},
		{"no function", nil, "PUT", "/closed", "1", 401, "", `ApiKey in="query", name="key", Basic realm="api", charset="UTF-8"`, "", nil},
		{"left out", validate.NoSecurity, "PUT", "/closed", "1", 204, "", "", "", nil},
		{"authenticated", check(nil), "PUT", "/closed", "1", 204, "", "", "", "ada"},
		{"authenticated, not required", check(nil), "GET", "/either", "", 204, "", "", "", "ada"},
		{"not asked", check(denied), "GET", "/open", "", 204, "", "", "", nil},
		{"denied", check(denied), "PUT", "/closed", "1", 401, "", `ApiKey in="query", name="key", Basic realm="api", charset="UTF-8"`, "the reason", nil},
		{"denied otherwise", check(&validate.Error{Status: 403, Detail: "You may not."}), "PUT", "/closed", "1", 403, "", "", "", nil},
		{"invalid", check(nil), "PUT", "/closed", `"x"`, 400, "", "", "", nil},
		{"HEAD", nil, "HEAD", "/open", "", 204, "", "", "", nil},
		{"another method", nil, "POST", "/open", "", 405, "GET, HEAD", "", "", nil},
		{"another path", nil, "GET", "/open/", "", 404, "", "", "", nil},
	} {
		var refused error
		validator, err := validate.Load(document(t, operations), validate.Config{
			Security: test.security,
			Fail: func(w http.ResponseWriter, _ *http.Request, err error) {
				failed, _ := errors.AsType[*validate.Error](err)
				refused = failed.Err
				w.WriteHeader(failed.Status)
			},
		})
		harness.Check(t, err)
		body := strings.NewReader(test.body)
		r := httptest.NewRequest(test.method, test.target, io.NopCloser(body))
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		validator.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if caller := r.Context().Value(key{}); caller != test.caller {
				t.Errorf("%s: next is called with %v", test.name, caller)
			}
			w.WriteHeader(http.StatusNoContent)
		})).ServeHTTP(answer, r)
		if got := answer.Result(); got.StatusCode != test.status || got.Header.Get("Allow") != test.allow || got.Header.Get("WWW-Authenticate") != test.challenge {
			t.Errorf("%s: %d %v", test.name, got.StatusCode, got.Header)
		}
		if test.err != "" && !errors.Is(refused, denied) {
			t.Errorf("%s: the cause is %v", test.name, refused)
		}
		if read := body.Len() == 0 && test.body != ""; read != (test.status == 204 || test.status == 400) && test.body != "" {
			t.Errorf("%s: the body is read: %t", test.name, read)
		}
	}
}
