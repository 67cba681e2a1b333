package validate_test

import (
	"net/http/httptest"
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
	for query, want := range map[string]string{
		"id=abc": "ok",
		"id=a%62c&on=true&ratio=0.5&kind=a+b&key=k": "ok",
		"id=abc&kind=a%20b":                         "ok",
		"id=abc&kind=c%3Bd":                         "ok",
		"i%64=abc":                                  "ok",
		"":                                          "query:id required",
		"id":                                        "query:id required",
		"id=":                                       "query:id required",
		"ID=abc":                                    "query:id required",
		"id=a":                                      "query:id minLength",
		"id=%C3%A4%C3%B6":                           "ok",
		"id=abcdef":                                 "query:id maxLength",
		"id=abc&id=abc":                             "query:id repeated",
		"id=abc&%69d=abc":                           "query:id repeated",
		"id=%zz":                                    "query:id escape",
		"id=%2":                                     "query:id escape",
		"id=abc;d":                                  "query:id escape",
		"id=%ff%ff":                                 "query:id type",
		"id=abc&other=%zz&%zz=1&a;b&=&&x;id=1":      "ok",
		"id=abc&other=1&other=2":                    "ok",
		"id=abc&on=1":                               "query:on type",
		"id=abc&on=":                                "query:on type",
		"id=abc&on=TRUE&on=true":                    "query:on repeated",
		"id=abc&ratio=1.6":                          "query:ratio maximum",
		"id=abc&ratio=%201":                         "query:ratio type",
		"id=abc&ratio=NaN":                          "query:ratio type",
		"id=abc&ratio=-1e400":                       "query:ratio format",
		"id=abc&kind=x":                             "query:kind enum",
		"id=abc&key=":                               "query:key minLength",
		"id=a&on=x&ratio=y":                         "query:id minLength, query:on type, query:ratio type",
	} {
		r := httptest.NewRequest("GET", "/p", nil)
		r.URL.RawQuery = query
		r.Header.Set("X-Workspace-Id", "w")
		if got := violations(serve(t, o, r).err); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
}

func TestOperation_Handler_checksHeaderParameters(t *testing.T) {
	t.Parallel()
	o := operationOf(t, "GET", takesParameters, anyObject, validate.Config{})
	for _, c := range []struct {
		workspace, count []string
		want             string
	}{
		{[]string{"w"}, nil, "ok"},
		{[]string{"w"}, []string{"12"}, "ok"},
		{nil, nil, "header:x-workspace-id required"},
		{[]string{""}, nil, "header:x-workspace-id required"},
		{[]string{"w", "w"}, nil, "header:x-workspace-id repeated"},
		{[]string{"\xff"}, nil, "header:x-workspace-id type"},
		{[]string{"w"}, []string{"0"}, "header:X-Count minimum"},
		{[]string{"w"}, []string{"1.0"}, "header:X-Count type"},
		{[]string{"w"}, []string{"+1"}, "header:X-Count type"},
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
	if got == nil || got.Detail != malformed || violations(got) != "header:key required" {
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
