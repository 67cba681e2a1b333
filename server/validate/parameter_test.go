package validate_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

const takesParameters = `{
	"parameters": [
		{"name": "x-workspace-id", "in": "header", "required": true, "schema": {"type": "string"}},
		{"name": "X-Count", "in": "header", "schema": {"type": "integer", "format": "int32", "minimum": 1}},
		{"name": "id", "in": "query", "required": true, "style": "form", "schema": {"type": "string", "minLength": 2, "maxLength": 5}},
		{"name": "on", "in": "query", "schema": {"type": "boolean"}},
		{"name": "ratio", "in": "query", "schema": {"type": "number", "maximum": 1.5}},
		{"name": "kind", "in": "query", "schema": {"type": "string", "allOf": [{"enum": ["a b", "c;d"]}]}},
		{"name": "key", "in": "query", "schema": {"type": "string", "minLength": 1}}],
	"responses": {"200": {"description": "d"}}}`

func TestOperation_Handler_checksQueryParameters(t *testing.T) {
	t.Parallel()
	o := operationOf(t, "GET", takesParameters, anyObject, validate.Config{})
	checkQueries(t, o, map[string]string{
		"id=abc": "ok",
		"id=a%62c&on=true&ratio=0.5&kind=a+b&key=k": "ok",
		"i%64=abc":                             "ok",
		"":                                     "query:id required",
		"id":                                   "query:id required",
		"id=":                                  "query:id required",
		"ID=abc":                               "query:id required",
		"id=a":                                 "query:id minLength",
		"id=abcdef":                            "query:id maxLength",
		"id=abc&id=abc":                        "query:id repeated",
		"id=%zz":                               "query:id escape",
		"id=abc;d":                             "query:id escape",
		"id=%ff%ff":                            "query:id type",
		"id=abc&other=%zz&%zz=1&a;b&=&&x;id=1": "ok",
		"id=abc&on=1":                          "query:on type",
		"id=abc&on=":                           "query:on type",
		"id=abc&ratio=1.6":                     "query:ratio maximum",
		"id=abc&ratio=-1e400":                  "query:ratio format",
		"id=abc&kind=x":                        "query:kind enum",
		"id=abc&key=":                          "query:key minLength",
		"id=a&on=x&ratio=y":                    "query:id minLength, query:on type, query:ratio type",
	})
}

func TestOperation_Handler_checksHeaderParameters(t *testing.T) {
	t.Parallel()
	o := operationOf(t, "GET", takesParameters, anyObject, validate.Config{})
	for _, c := range []struct {
		workspace, count []string
		want             string
	}{
		{[]string{"w"}, []string{"12"}, "ok"},
		{nil, nil, "header:x-workspace-id required"},
		{[]string{""}, nil, "header:x-workspace-id required"},
		{[]string{"w", "w"}, nil, "header:x-workspace-id repeated"},
		{[]string{"\xff"}, nil, "header:x-workspace-id type"},
		{[]string{"w"}, []string{"0"}, "header:X-Count minimum"},
		{[]string{"w"}, []string{"01"}, "header:X-Count type"},
		{[]string{"w"}, []string{""}, "header:X-Count type"},
		{[]string{"w"}, []string{"99999999999"}, "header:X-Count format"},
		{nil, []string{"x"}, "header:x-workspace-id required, header:X-Count type"},
	} {
		r := httptest.NewRequest("GET", "/p?id=abc", nil)
		r.Header["X-Workspace-Id"], r.Header["X-Count"] = c.workspace, c.count
		if got := violations(serve(t, o, r).err); got != c.want {
			t.Errorf("%q %q: got %q, want %q", c.workspace, c.count, got, c.want)
		}
	}
}

// Violations of parameters and the body are reported together. An unreadable body is reported instead of
// them.
func TestOperation_Handler_reportsParametersAndBodyTogether(t *testing.T) {
	t.Parallel()
	o := operationOf(t, "POST", `{
		"parameters": [{"name": "key", "in": "header", "required": true, "schema": {"type": "string"}}],
		"requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}},
		"responses": {"200": {"description": "d"}}}`, `{"type": "object", "required": ["a"]}`, validate.Config{MaxBodyBytes: 20})
	if got := violations(serve(t, o, jsonRequest("POST", "/p", `{}`)).err); got != "header:key required, /a required" {
		t.Error(got)
	}
	got := serve(t, o, jsonRequest("POST", "/p", `{`)).err
	if got == nil || !strings.HasPrefix(got.Detail, strings.TrimSuffix(malformed, ".")) || violations(got) != "header:key required" {
		t.Errorf("got %v", got)
	}
	if got := serve(t, o, jsonRequest("POST", "/p", strings.Repeat(" ", 21))).err; status(got) != 413 {
		t.Errorf("got %v", got)
	}
	if got := serve(t, o, httptest.NewRequest("POST", "/p", strings.NewReader(`{}`))).err; status(got) != 415 {
		t.Errorf("got %v", got)
	}
}

// Parameters of a path item apply to all its operations, unless an operation overrides them.
func TestOperation_Handler_checksParametersOfThePathItem(t *testing.T) {
	t.Parallel()
	v := compile(t, `{"paths": {"/p": {
		"parameters": [
			{"name": "a", "in": "query", "required": true, "schema": {"type": "string"}},
			{"name": "b", "in": "query", "required": true, "schema": {"type": "string"}}],
		"get": {"parameters": [{"name": "a", "in": "query", "schema": {"type": "integer"}}], "responses": {"200": {"description": "d"}}}}}}`)
	o, _ := v.Operation("GET", "/p")
	checkQueries(t, o, map[string]string{"a=x&b=x": "query:a type", "b=x": "ok", "a=1": "query:b required"})
}

// QUERY and the methods of additionalOperations are operations like all others.
func TestValidator_Operation_hasAdditionalMethods(t *testing.T) {
	t.Parallel()
	const operation = `{"parameters": [{"name": "n", "in": "query", "required": true, "schema": {"type": "integer"}}], ` + anyResponse + `}`
	v := compile(t, `{"openapi": "3.2.0", "paths": {"/p": {"query": `+operation+`, "additionalOperations": {"COPY": `+operation+`, "Lock": `+operation+`}}}}`)
	var ids []string
	for o := range v.Operations() {
		ids = append(ids, o.ID())
		if got := violations(serve(t, o, httptest.NewRequest(o.Method(), "/p?n=a", nil)).err); got != "query:n type" {
			t.Errorf("%s: got %s", o.ID(), got)
		}
	}
	if got := strings.Join(ids, ", "); got != "COPY /p, Lock /p, QUERY /p" {
		t.Errorf("got %s", got)
	}
}

// A free-form exploded object gets the names that the document gives to nothing else in the same place.
func TestOperation_Handler_freeFormTakesNoDeclaredName(t *testing.T) {
	t.Parallel()
	const free = `{"type": "object", "additionalProperties": {"type": "string"}}`
	for _, declared := range []struct{ in, sibling, names string }{
		{"query", `"schema": {"type": "string"}`, "s"},
		{"query", `"schema": {"type": "array"}`, "s"},
		{"query", `"schema": {"type": ["array", "object"], "additionalProperties": false, "properties": {"a": {}, "b": {}}}`, "s a b"},
		{"query", `"explode": false, "schema": {"type": ["array", "object"]}`, "s"},
		{"query", `"style": "pipeDelimited", "schema": {"type": "array"}`, "s"},
		{"query", `"style": "deepObject", "schema": {"type": "object"}`, "s[a] s[b]"},
		{"query", `"schema": {"type": "object", "additionalProperties": false, "properties": {"a": {}, "b": {}}}`, "a b"},
		{"query", `"content": {"application/json": {"schema": {"properties": {"free": {}}}}}`, "s"},
		{"query", `"schema": {}`, "key"},
		{"cookie", `"schema": {"type": "string"}`, "s"},
		{"cookie", `"schema": {"type": "object", "additionalProperties": false, "properties": {"a": {}, "b": {}}}`, "a b"},
		{"cookie", `"schema": {}`, "session"},
	} {
		v := compile(t, `{"components": {"securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "key"},
			"session": {"type": "apiKey", "in": "cookie", "name": "session"}}}, "security": [{"key": []}, {"session": []}],
			"paths": {"/p": {"get": {"parameters": [{"name": "rest", "in": "`+declared.in+`", "schema": `+free+`},
				{"name": "s", "in": "`+declared.in+`", `+declared.sibling+`}]}}}}`)
		o, _ := v.Operation("GET", "/p")
		pairs := "free=0"
		for name := range strings.FieldsSeq(declared.names) {
			pairs += "&" + url.QueryEscape(name) + "=1"
		}
		r := httptest.NewRequest("GET", "/p", nil)
		if declared.in == "query" {
			r.URL.RawQuery = pairs
		} else {
			r.Header.Set("Cookie", strings.ReplaceAll(pairs, "&", "; "))
		}
		got := ""
		o.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got = r.PathValue(declared.in + ":rest")
		}), func(_ http.ResponseWriter, _ *http.Request, err error) { got = err.Error() }).ServeHTTP(httptest.NewRecorder(), r)
		if got != `{"free":"0"}` {
			t.Errorf("%s %s beside %s: got %s", declared.in, pairs, declared.sibling, got)
		}
	}
}

// In a form, a free-form field gets the names that the document gives to no other field, and the form gets none of
// them.
func TestOperation_Handler_freeFormFieldTakesNoDeclaredName(t *testing.T) {
	t.Parallel()
	o := operationOf(t, "POST", `{"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"$ref": "#/components/schemas/S"},
		"encoding": {"rest": {"style": "form"}, "deep": {"style": "deepObject"}, "flat": {"style": "form"}}}}}, "responses": {"200": {"description": "d"}}}`,
		`{"properties": {"deep": {"type": "object"}, "flat": {"type": "object", "additionalProperties": false, "properties": {"a": {}}},
			"list": {"type": "array"}, "rest": {"type": "object"}, "s": {}}}`, validate.Config{})
	r := httptest.NewRequest("POST", "/p", strings.NewReader("free=x&deep[x]=1&list=1&list=1&a=1&s=1"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got := ""
	o.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := r.Body.(interface{ ValidJSON() []byte })
		got = string(body.ValidJSON())
	}), nil).ServeHTTP(httptest.NewRecorder(), r)
	if want := `{"deep":{"x":1},"flat":{"a":1},"list":[1,1],"rest":{"free":"x"},"s":1}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
