package validate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// FuzzSchema checks that no body causes a panic or disproportionate work, and that the package accepts the
// same JSON as encoding/json in its strictest mode.
func FuzzSchema(f *testing.F) {
	anything := compileSchemas(f, `{"S": {}}`)
	strict := compileSchemas(f, `{"S": {"oneOf": [{"type": "null"},
		{"type": "object", "required": ["k"], "properties": {"k": {"const": "a"}, "s": {"$ref": "#/components/schemas/S"}}},
		{"type": "object", "required": ["k"], "additionalProperties": {"$ref": "#/components/schemas/T"}, "properties": {"k": {"const": "b"}}}]},
		"T": {"minimum": -1e3, "exclusiveMaximum": 0.5, "minLength": 1, "pattern": "a", "maxItems": 3, "maxProperties": 3,
			"enum": ["a", 0.25, [1, {"a": null}], {"b": [true]}], "items": {"type": ["integer", "null"]}}}`)
	branching := compileSchemas(f, `{"S": {"anyOf": [{"$ref": "#/components/schemas/T"}, {"not": {"$ref": "#/components/schemas/T"}}], "unevaluatedItems": {"$ref": "#/components/schemas/S"},
		"patternProperties": {"a": {"$ref": "#/components/schemas/S"}}, "unevaluatedProperties": false, "uniqueItems": true, "contains": {"if": {"type": "string"}, "else": {"$ref": "#/components/schemas/T"}}},
		"T": {"prefixItems": [{"$ref": "#/components/schemas/S"}], "properties": {"a": {"$ref": "#/components/schemas/S"}, "B": {}}, "multipleOf": 0.3}}`)
	for _, d := range allOperations(f) {
		for _, body := range d.requestBodies(f) {
			f.Add([]byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		original := bytes.Clone(body)
		got := failure(t, anything.Validate(body))
		if want := isStrictJSON(body); (got == nil) != want {
			t.Errorf("%q: strict JSON is %v, got %v", body, want, got)
		}
		if first, second := strict.Validate(body), strict.Validate(body); !same(failure(t, first), failure(t, second)) {
			t.Errorf("%q: got %v, then %v", body, first, second)
		}
		if first, second := branching.Validate(body), branching.Validate(body); !same(failure(t, first), failure(t, second)) {
			t.Errorf("%q: got %v, then %v", body, first, second)
		}
		if work := max(strict.Work(body), branching.Work(body)); work > 40*len(body)+1000 {
			t.Errorf("%q: %d of work", body, work)
		}
		if !bytes.Equal(body, original) {
			t.Errorf("%q has been changed", original)
		}
	})
}

func same(a, b *validate.Error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Detail == b.Detail && slices.Equal(a.Violations, b.Violations)
}

// FuzzQuery checks that no query causes a panic, and that an accepted parameter has the value that net/url
// reads.
func FuzzQuery(f *testing.F) {
	o := operationOf(f, "GET", `{"parameters": [{"name": "id", "in": "query", "required": true, "schema": {"type": "string"}}],
		"responses": {"200": {"description": "d"}}}`, anyObject, validate.Config{})
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest("GET", "/p", nil)
		r.URL.RawQuery = query
		accepted := serve(t, o, r).err == nil
		values := r.URL.Query()["id"]
		if accepted && (len(values) != 1 || values[0] == "") {
			t.Errorf("%q is accepted, and net/url reads %q", query, values)
		}
	})
}

// FuzzPattern checks that no pattern causes a panic, and that a pattern without special syntax is not changed
// by the translation.
func FuzzPattern(f *testing.F) {
	f.Fuzz(func(t *testing.T, pattern string) {
		translated, err := validate.TranslatePattern(pattern)
		if !strings.ContainsAny(pattern, `\.[(`) && (err != nil || translated != pattern) {
			t.Errorf("%q becomes %q, %v", pattern, translated, err)
		}
	})
}

// isStrictJSON parses text with encoding/json and checks the rules that encoding/json does not enforce.
func isStrictJSON(text []byte) bool {
	if !json.Valid(text) || !utf8.Valid(text) || hasLoneSurrogate(text) {
		return false
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var open []map[string]bool // names in each open container; nil for arrays
	isName := false
	for {
		token, err := decoder.Token()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		inObject := len(open) > 0 && open[len(open)-1] != nil
		switch token {
		case json.Delim('{'), json.Delim('['):
			var names map[string]bool
			if token == json.Delim('{') {
				names = make(map[string]bool)
			}
			if open = append(open, names); len(open) > validate.MaxDepth {
				return false
			}
			isName = names != nil
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
			isName = len(open) > 0 && open[len(open)-1] != nil
			continue
		}
		if name, ok := token.(string); ok && inObject && isName {
			if open[len(open)-1][name] {
				return false
			}
			open[len(open)-1][name] = true
			isName = false
			continue
		}
		isName = inObject
	}
}

// hasLoneSurrogate reports whether a valid JSON text has an escape that is half of a surrogate pair.
func hasLoneSurrogate(text []byte) bool {
	lower := strings.ToLower(strings.ReplaceAll(string(text), `\\`, "--"))
	for {
		i := strings.Index(lower, `\ud`)
		if i < 0 {
			return false
		}
		half := lower[i:]
		if half[3] < '8' {
			lower = half[6:]
			continue
		}
		if half[3] > 'b' || len(half) < 12 || half[6:9] != `\ud` || half[9] < 'c' {
			return true
		}
		lower = half[12:]
	}
}
