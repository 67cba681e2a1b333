package validate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// schemes has schemes of all kinds, and some that are not supported.
const schemes = `"securitySchemes": {
	"bearer": {"type": "http", "scheme": "Bearer", "bearerFormat": "JWT", "description": "d", "x-y": 1},
	"basic": {"type": "http", "scheme": "basic"},
	"header": {"type": "apiKey", "in": "header", "name": "X-Key"},
	"query": {"type": "apiKey", "in": "query", "name": "key"},
	"cookie": {"type": "apiKey", "in": "cookie", "name": "session"},
	"oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://id.example.com"},
	"oauth": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://id.example.com", "scopes": {"read": "r"}},
		"implicit": {"authorizationUrl": "https://id.example.com", "scopes": {"write": "w"}}}},
	"device": {"type": "oauth2", "oauth2MetadataUrl": "https://id.example.com/meta", "deprecated": true, "flows": {"deviceAuthorization": {
		"deviceAuthorizationUrl": "https://id.example.com/device", "tokenUrl": "https://id.example.com", "scopes": {"tv": "t"}}}},
	"tls": {"type": "mutualTLS"}`

// invalidSchemes are reported whether or not they are used.
const invalidSchemes = `
	"digest": {"type": "http", "scheme": "digest"}, "other": {"type": "other"},
	"body": {"type": "apiKey", "in": "body", "name": "n"}, "nameless": {"type": "apiKey", "in": "query"},
	"flowless": {"type": "oauth2"}, "undiscovered": {"type": "openIdConnect"}`

// The security of an operation replaces that of the document. A request may be anonymous if an alternative is empty
// or there are none.
func TestOperation_Security_listsAlternatives(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ document, operation, want string }{
		{``, ``, ""},
		{`"security": [{}],`, ``, "()"},
		{``, `"security": [],`, ""},
		{`"security": [{"bearer": []}],`, `"security": [],`, ""},
		{`"security": [{}],`, `"security": [{"bearer": []}],`, "(bearer:bearer)"},
		{`"security": [{"bearer": ["admin"]}, {}],`, ``, "(bearer:bearer[admin])()"},
		{`"security": [{"query": [], "header": []}, {"basic": []}],`, ``, "(header:apiKey@header.X-Key query:apiKey@query.key)(basic:basic)"},
		{`"security": [{"cookie": []}, {"tls": []}],`, ``, "(cookie:apiKey@cookie.session)(tls:mutualTLS)"},
		{`"security": [{"device": ["tv"]}],`, ``, "(device:bearer[tv])"},
		{`"security": [{"oauth": ["read", "write"], "oidc": ["any"]}],`, ``, "(oauth:bearer[read write] oidc:bearer[any])"},
	} {
		v := compile(t, `{"openapi": "3.2.0", `+c.document+`"paths": {"/p": {"get": {`+c.operation+anyResponse+`}}}, "components": {`+schemes+`}}}`)
		o, _ := v.Operation("GET", "/p")
		var got strings.Builder
		for _, all := range o.Security() {
			var requirements []string
			for _, r := range all {
				text := r.Scheme.Name + ":" + string(r.Scheme.Kind)
				if r.Scheme.In != "" {
					text += "@" + r.Scheme.In + "." + r.Scheme.Parameter
				}
				if len(r.Scopes) > 0 {
					text += fmt.Sprint(r.Scopes)
				}
				requirements = append(requirements, text)
			}
			got.WriteString("(" + strings.Join(requirements, " ") + ")")
		}
		if got.String() != c.want || o.Public() != (c.want == "" || strings.Contains(c.want, "()")) {
			t.Errorf("%s %s: got %s, public is %v, want %s", c.document, c.operation, got.String(), o.Public(), c.want)
		}
	}
}

func TestLoad_rejectsInvalidSecurity(t *testing.T) {
	t.Parallel()
	for security, place := range map[string]string{
		`[{"missing": []}]`:            "/security/0/missing",
		`[{"bearer": [], "none": []}]`: "/security/0/none",
		`[{}, {"digest": []}]`:         "/components/securitySchemes/digest/scheme",
		`[]`:                           "/components/securitySchemes/other/type",
		`[{}]`:                         "/components/securitySchemes/body/in",
		`[{"nameless": []}]`:           "/components/securitySchemes/nameless",
		`[{"tls": []}]`:                "/components/securitySchemes/flowless",
		`[{"oidc": []}]`:               "/components/securitySchemes/undiscovered",
	} {
		_, err := validate.Load(document(t, `{"security": `+security+`, "paths": {"/p": {"get": {"responses": {"200": {"description": "d"}}}}},
			"components": {`+schemes+","+invalidSchemes+`}}}`), validate.Config{})
		if err == nil || !strings.Contains(err.Error(), " "+place+": ") {
			t.Errorf("%s: got %v, want %s", security, err, place)
		}
	}
}

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
		{"no context", func(*http.Request, *validate.Operation) (context.Context, error) { return nil, nil }, "PUT", "/closed", "1", 204, "", "", "", nil},
		{"denied", check(denied), "PUT", "/closed", "1", 401, "", `ApiKey in="query", name="key", Basic realm="api", charset="UTF-8"`, "the reason", nil},
		{"denied otherwise", check(&validate.Error{Status: 403, Detail: "You may not."}), "PUT", "/closed", "1", 403, "", "", "", nil},
		{"denied with an error of no status", check(&validate.Error{}), "PUT", "/closed", "1", 500, "", "", "", nil},
		{"denied with no error", check((*validate.Error)(nil)), "PUT", "/closed", "1", 401, "", `ApiKey in="query", name="key", Basic realm="api", charset="UTF-8"`, "", nil},
		{"invalid", check(nil), "PUT", "/closed", `"x"`, 400, "", "", "", nil},
		{"HEAD", nil, "HEAD", "/open", "", 204, "", "", "", nil},
		{"another method", nil, "POST", "/open", "", 405, "GET, HEAD", "", "", nil},
		{"another path", nil, "GET", "/open/", "", 404, "", "", "", nil},
	} {
		var refused error
		cfg := validate.Config{Security: test.security}
		if test.err != "" {
			cfg.Fail = func(w http.ResponseWriter, _ *http.Request, err error) {
				failed, _ := errors.AsType[*validate.Error](err)
				refused = failed.Err
				w.WriteHeader(failed.Status)
			}
		}
		validator, err := validate.Load(document(t, operations), cfg)
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
		if got := answer.Result(); got.StatusCode != test.status || got.Header.Get("Allow") != test.allow || got.Header.Get("WWW-Authenticate") != test.challenge ||
			(got.Header.Get("Content-Type") == "application/problem+json" && got.Header.Get("X-Content-Type-Options") == "nosniff") != (test.status >= 400 && test.err == "") {
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
