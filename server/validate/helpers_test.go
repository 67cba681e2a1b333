package validate_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// document returns a complete document in JSON. It adds the required members that text does not have.
func document(tb testing.TB, text string) []byte {
	tb.Helper()
	document := map[string]any{
		"openapi": "3.1.1",
		"info":    map[string]any{"title": "test", "version": "1"},
		"paths":   map[string]any{},
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber() // keeps the notation of numbers
	harness.Check(tb, decoder.Decode(&document))
	return harness.Try(json.Marshal(document))(tb)
}

func compile(tb testing.TB, text string) *validate.Validator {
	tb.Helper()
	return harness.Try(validate.Load(document(tb, text), validate.Config{}))(tb)
}

// compileSchemas compiles component schemas and returns the one named S.
func compileSchemas(tb testing.TB, schemas string) *validate.Schema {
	tb.Helper()
	s, ok := compile(tb, `{"components": {"schemas": `+schemas+`}}`).Schema("S")
	if !ok {
		tb.Fatal("there is no schema S")
	}
	return s
}

// operationOf compiles a document of OpenAPI 3.2 with the single path /p and a schema S, and returns the operation.
func operationOf(tb testing.TB, method, operation, schema string, cfg validate.Config) *validate.Operation {
	tb.Helper()
	v, err := validate.Load(document(tb, `{"openapi": "3.2.0",
		"paths": {"/p": {"`+strings.ToLower(method)+`": `+operation+`}},
		"components": {"schemas": {"S": `+schema+`}}}`), cfg)
	harness.Check(tb, err)
	o, ok := v.Operation(method, "/p")
	if !ok {
		tb.Fatal("there is no operation")
	}
	return o
}

// outcome is the result of a request.
type outcome struct {
	err           *validate.Error // nil if next was called, and has read the body
	body          string          // the body that next read
	contentLength int64
}

func serve(tb testing.TB, o *validate.Operation, r *http.Request) (result outcome) {
	tb.Helper()
	next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		result.err = failure(tb, err)
		result.body, result.contentLength = string(body), r.ContentLength
	})
	fail := func(_ http.ResponseWriter, _ *http.Request, err error) { result.err = failure(tb, err) }
	o.Handler(next, fail).ServeHTTP(httptest.NewRecorder(), r)
	return result
}

// failure returns err as an [*validate.Error], or nil.
func failure(tb testing.TB, err error) *validate.Error {
	tb.Helper()
	if err == nil {
		return nil
	}
	invalid := (*validate.Error)(nil)
	if !errors.As(err, &invalid) {
		tb.Fatalf("%T is no *validate.Error", err)
	}
	return invalid
}

// positions are those of syntax errors, which a test of their own has.
var positions = regexp.MustCompile(` at line \d+, column \d+`)

// violations returns "pointer keyword" of each violation, or the detail if there are none.
func violations(err *validate.Error) string {
	if err == nil {
		return "ok"
	}
	if len(err.Violations) == 0 {
		return positions.ReplaceAllString(err.Detail, "")
	}
	var places []string
	for _, v := range err.Violations {
		places = append(places, v.Pointer+" "+v.Keyword)
	}
	return strings.Join(places, ", ")
}

// checkBodies validates each body, and compares the violations.
func checkBodies(tb testing.TB, s *validate.Schema, cases map[string]string) {
	tb.Helper()
	for body, want := range cases {
		err := failure(tb, s.Validate([]byte(body)))
		if got := violations(err); got != want || err != nil && err.Status != http.StatusBadRequest {
			tb.Errorf("%.100q: got %q, want %q: %v", body, got, want, err)
		}
	}
}

// checkQueries sends a GET with each query, and compares the violations.
func checkQueries(tb testing.TB, o *validate.Operation, cases map[string]string) {
	tb.Helper()
	for query, want := range cases {
		r := httptest.NewRequest(http.MethodGet, "/p", nil)
		r.URL.RawQuery = query
		r.Header.Set("X-Workspace-Id", "w") // for takesParameters
		if got := violations(serve(tb, o, r).err); got != want {
			tb.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
}

func jsonRequest(method, target, body string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return r
}
