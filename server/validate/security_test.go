package validate_test

import (
	"fmt"
	"strings"
	"testing"

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
