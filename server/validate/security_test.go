package validate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// The security of an operation replaces that of the document.
func TestOperation_Public_reportsWhetherAnonymousRequestsAreAllowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		global, own string
		public      bool
	}{
		{``, ``, true},
		{``, `"security": [],`, true},
		{``, `"security": [{}],`, true},
		{``, `"security": [{"bearer": []}],`, false},
		{``, `"security": [{"bearer": []}, {}],`, true},
		{`"security": [{"bearer": []}],`, ``, false},
		{`"security": [{"bearer": []}],`, `"security": [],`, true},
		{`"security": [{}],`, `"security": [{"bearer": []}],`, false},
	} {
		v := compile(t, `{`+c.global+`"paths": {"/p": {"get": {`+c.own+`"responses": {"200": {"description": "d"}}}}},
			"components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}}}`)
		if o, _ := v.Operation("GET", "/p"); o.Public() != c.public {
			t.Errorf("%s %s: public is %v", c.global, c.own, o.Public())
		}
	}
}

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
	"tls": {"type": "mutualTLS"},
	"digest": {"type": "http", "scheme": "digest"}, "other": {"type": "other"},
	"body": {"type": "apiKey", "in": "body", "name": "n"}, "nameless": {"type": "apiKey", "in": "query"},
	"mixed": {"type": "http", "scheme": "bearer", "in": "header"}}`

func TestOperation_Security_listsAlternatives(t *testing.T) {
	t.Parallel()
	for security, want := range map[string]string{
		`[]`:                          "",
		`[{}]`:                        "()",
		`[{"bearer": []}]`:            "(bearer:bearer)",
		`[{"bearer": ["admin"]}, {}]`: "(bearer:bearer[admin])()",
		`[{"query": [], "header": []}, {"basic": []}]`:    "(header:apiKey@header.X-Key query:apiKey@query.key)(basic:basic)",
		`[{"cookie": []}, {"tls": []}]`:                   "(cookie:apiKey@cookie.session)(tls:mutualTLS)",
		`[{"oauth": ["read", "write"], "oidc": ["any"]}]`: "(oauth:bearer[read write] oidc:bearer[any])",
	} {
		v := compile(t, `{"security": `+security+`, "paths": {"/p": {"get": {"responses": {"200": {"description": "d"}}}}},
			"components": {`+schemes+`}}`)
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
		if got.String() != want {
			t.Errorf("%s: got %s, want %s", security, got.String(), want)
		}
	}
}

func TestLoad_rejectsInvalidSecurity(t *testing.T) {
	t.Parallel()
	for security, place := range map[string]string{
		`[{"missing": []}]`:               "/security/0/missing",
		`[{"bearer": [], "none": []}]`:    "/security/0/none",
		`[{}, {"digest": []}]`:            "/components/securitySchemes/digest/scheme",
		`[{"other": []}]`:                 "/components/securitySchemes/other/type",
		`[{"body": []}]`:                  "/components/securitySchemes/body/in",
		`[{"nameless": []}]`:              "/components/securitySchemes/nameless",
		`[{"mixed": []}]`:                 "/components/securitySchemes/mixed/in",
		`[{"oauth": ["read", "delete"]}]`: "/security/0/oauth/1",
	} {
		_, err := validate.Load(document(t, `{"security": `+security+`, "paths": {"/p": {"get": {"responses": {"200": {"description": "d"}}}}},
			"components": {`+schemes+`}}`), validate.Config{})
		if err == nil || !strings.Contains(err.Error(), " "+place+": ") {
			t.Errorf("%s: got %v, want %s", security, err, place)
		}
	}
}
