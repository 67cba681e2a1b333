package validate_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

const takesEverything = `{"paths": {"/things/{thing-id}/parts/{part}": {
	"parameters": [
		{"name": "thing-id", "in": "path", "required": true, "schema": {"type": "string", "pattern": "^[a-z/ ]+$"}},
		{"name": "part", "in": "path", "required": true, "style": "matrix", "explode": true, "schema": {"type": "array", "items": {"type": "integer"}}}],
	"get": {"parameters": [
		{"name": "filter", "in": "query", "style": "deepObject", "explode": true, "schema": {"type": "object", "additionalProperties": false,
			"properties": {"min": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string", "maxLength": 2}}}}},
		{"name": "page", "in": "query", "schema": {"type": "object", "required": ["limit"], "properties": {"limit": {"type": "integer"}, "after": {"type": "string"}}}},
		{"name": "json", "in": "query", "content": {"application/json": {"schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}}},
		{"name": "note", "in": "query", "content": {"text/plain": {"schema": {"type": "string", "maxLength": 3}}}},
		{"name": "flag", "in": "query", "allowEmptyValue": true, "required": true, "schema": {"type": "boolean"}},
		{"name": "path", "in": "query", "allowReserved": true, "schema": {"type": "string"}},
		{"name": "defaulted", "in": "query", "schema": {"type": "integer", "default": 5}},
		{"name": "X-List", "in": "header", "schema": {"type": "array", "items": {"type": "integer"}}},
		{"name": "X-Point", "in": "header", "explode": true, "schema": {"type": "object", "properties": {"x": {"type": "number"}}}},
		{"name": "X-Json", "in": "header", "content": {"application/json": {"schema": {"type": "array"}}}},
		{"name": "session", "in": "cookie", "schema": {"type": "string", "minLength": 2}},
		{"name": "ids", "in": "cookie", "explode": false, "schema": {"type": "array", "items": {"type": "integer"}}},
		{"name": "prefs", "in": "cookie", "content": {"application/json": {"schema": {"type": "object", "required": ["dark"]}}}}],
	"responses": {"200": {"description": "d"}}}}}}`

// Parameters in all locations are checked, behind the mux that finds the operation.
func TestOperation_Handler_checksParametersInAllLocations(t *testing.T) {
	t.Parallel()
	v := compile(t, takesEverything)
	o, ok := v.Operation("GET", "/things/{thing_id}/parts/{part}") // the pattern of the generated code
	if !ok {
		t.Fatal("the operation is not found")
	}
	mux := http.NewServeMux()
	mux.Handle("GET /base/things/{thing_id}/parts/{part}", o.Handler(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		func(w http.ResponseWriter, _ *http.Request, err error) {
			_, _ = io.WriteString(w, violations(failure(t, err)))
		}))
	get := func(path, query string, header http.Header) string {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/base"+path, nil)
		r.URL.RawQuery, r.Header = query, header
		w := httptest.NewRecorder()
		if mux.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Errorf("%s?%s: %d", path, query, w.Code)
		}
		return w.Body.String()
	}
	const path = "/things/ab/parts/;part=1;part=2"
	for path, want := range map[string]string{
		path:                              "",
		"/things/a%2Fb%20c/parts/;part=1": "",
		"/things/A/parts/;part=1":         "path:thing-id pattern",
		"/things/a+b/parts/;part=1":       "path:thing-id pattern",
		"/things/ab/parts/1":              "path:part style",
		"/things/ab/parts/;other=1":       "path:part style",
		"/things/ab/parts/;part=1;part=x": "path:part/1 type",
		"/things/%7A/parts/%3Bpart=1":     "path:part style",
		"/things/%ff/parts/;part=":        "path:thing-id type, path:part/0 type",
	} {
		if got := get(path, "flag", nil); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	for query, want := range map[string]string{
		"":                                     "query:flag required",
		"flag=":                                "",
		"flag=yes":                             "query:flag type",
		"flag&undocumented=1&%zz":              "",
		"flag&filter[min]=1&filter[tags]=a":    "",
		"flag&filter[tags]=a&filter[tags]=abc": "query:filter/tags/1 maxLength",
		"flag&filter[tags][]=a&filter[tags][]=abc": "query:filter style",
		"flag&filter[in][city]=Paris":              "query:filter style",
		"flag&filter[min]=1&filter[min]=2":         "query:filter repeated",
		"flag&filter[min]=1;filter[min]=2":         "query:filter escape",
		"flag&filter[min]=x&filter[other]=1":       "query:filter/min type, query:filter additionalProperties",
		"flag&filter=1":                            "query:filter style",
		"flag&filterx[a]=1":                        "",
		"flag&limit=1&after=a":                     "",
		"flag&limit=x":                             "query:page/limit type",
		"flag&limit=1&limit=2":                     "query:page repeated",
		`flag&json={"a":"x"}`:                      "query:json/a type",
		`flag&json={"a":1,"a":1}`:                  "query:json/a duplicate",
		`flag&json={`:                              "query:json content",
		"flag&note=abcd":                           "query:note maxLength",
		"flag&path=a/b:c;d,e?f":                    "",
		"flag&defaulted=x":                         "query:defaulted type",
	} {
		if got := get(path, query, nil); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
	for _, c := range []struct {
		header http.Header
		want   string
	}{
		{http.Header{"X-List": {"1, 2", "3"}}, ""},
		{http.Header{"X-List": {"1", "x"}}, "header:X-List/1 type"},
		{http.Header{"X-List": {""}}, ""},
		{http.Header{"X-Point": {"x=1.5, y=a"}}, ""},
		{http.Header{"X-Point": {"x=a"}}, "header:X-Point/x type"},
		{http.Header{"X-Point": {"x"}}, "header:X-Point style"},
		{http.Header{"X-Json": {"{}"}}, "header:X-Json type"},
		{http.Header{"X-Json": {"[1]", "[2]"}}, "header:X-Json repeated"},
		{http.Header{"Cookie": {"session=ab; ids=1,2; other=x"}}, ""},
		{http.Header{"Cookie": {"session=a"}}, "cookie:session minLength"},
		{http.Header{"Cookie": {"session=ab; session=cd"}}, "cookie:session repeated"},
		{http.Header{"Cookie": {"prefs=%7B%22dark%22%3Atrue%7D"}}, ""},
		{http.Header{"Cookie": {"prefs=%7B%7D"}}, "cookie:prefs/dark required"},
		{http.Header{"Cookie": {"prefs=%7"}}, "cookie:prefs escape"},
	} {
		if got := get(path, "flag", c.header); got != c.want {
			t.Errorf("%v: got %s, want %s", c.header, got, c.want)
		}
	}
}

// The next handler can read the JSON of all parameters that are not plain scalars, and never those of another request.
func TestOperation_Handler_storesParametersAsPathValues(t *testing.T) {
	t.Parallel()
	o, _ := compile(t, takesEverything).Operation("GET", "/things/{thing_id}/parts/{part}")
	r := httptest.NewRequest("GET", `/things/a/parts/;part=1;part=2?flag&path=a;b&filter[min]=5&json={"a":1}`, nil)
	r.Header.Set("Cookie", "ids=1,2")
	refuse := func(_ http.ResponseWriter, _ *http.Request, err error) { t.Error(err) }
	other := httptest.NewRequest("GET", `/things/b/parts/;part=3?flag=&limit=1&json={"a":2}`, nil)
	o.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), refuse).ServeHTTP(httptest.NewRecorder(), other)
	o.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for name, want := range map[string]string{
			"path:part": "[1,2]", "path:thing-id": `"a"`, "query:filter": `{"min":5}`, "query:json": `{"a":1}`, "query:flag": "null",
			"query:path": `"a;b"`, "cookie:ids": "[1,2]", "query:page": "", "query:defaulted": "", "header:X-List": "",
		} {
			if got := r.PathValue(name); got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
		}
	}), refuse).ServeHTTP(httptest.NewRecorder(), r)
}
