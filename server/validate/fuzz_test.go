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
	for _, text := range trickyTexts() {
		f.Add([]byte(text))
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

// trickyTexts are JSON, or nearly.
func trickyTexts() []string {
	const long = `"abcdefgh`
	texts := []string{
		`{}`, `[]`, `0`, `-0.5e+10`, `12E-3`, `""`, `true`, ` false `, "\n\t\rnull\n", `"a\"\\\/\b\f\n\r\tb"`, `"\u00e9\uD7FF\uE000é😀"`,
		`{"a":{"a":[1,{"b":[]},[[]]],"b":"x"},"é":[true,null,-1.5]}`, ` { "a" : [ 1 , 2 ] , "b" : { } , "" : [ ] } `, `[{},{"a":1},{"a":2}]`,
		``, ` `, `{`, `[`, `}`, `]`, `,`, `:`, `"`, `\"`, `x\"`, `"a`, `"\`, `"\"`, `"\u12`, `"\x"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`, `"\ud83dxxxxxx"`, `"\ud83d\u0041"`,
		"\"\n\"", "\"\x7f\"", "\"\xff\"", "\x00", "1\x00", `01`, `-`, `1.`, `.5`, `1e`, `+1`, `1x`, `tru`, `truex`, `nul`, `1 2`, `{} {}`,
		`[1 2]`, `[1,]`, `[,1]`, `[1,,2]`, `[1}`, `[:1]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a" 1}`, `{"a":1 "b":2}`, `{a:1}`, `{1:1}`,
		`{"a":1]`, `{,}`, `{"a":1,,"b":2}`, `{"a"::1}`, `{[]:1}`, `1,`, `1:`, `{},`, `[]]`, `{}}`, `{"a":"b\"`,
		`{"a":1,"a":2}`, `{"\u0061":1,"a":2}`, `{"b":{"a":1,"a":1}}`, `{"":1,"":2}`, `{"a":1,"a":}`, `{"a":1,"a"`, `{"a":[],"a":{"b":[`,
	}
	for _, n := range []int{2, 4, 8, 17, 40, 100} { // the string crosses words, and the names are short and long, few and many
		name := func(i int) string { return `"` + strings.Repeat("é", n) + itoa(i) + `": [0]` }
		var members []string
		for i := range n {
			members = append(members, name(i))
		}
		object := "{" + strings.Join(members, ", ")
		for _, end := range []string{"}", ", " + name(n) + "}", ", " + name(n-1) + "}", `, "\u00e9` + name(0)[len(`"é`):] + "}", ", " + name(1)} {
			texts = append(texts, object+end)
		}
		for _, c := range []string{`\n`, `\u0020`, "\n", "\x1f", "\x7f", "\xc3", "é", `\`, `"`} {
			texts = append(texts, `"`+strings.Repeat("a", n)+c+`"`, `"`+strings.Repeat("a", n)+c+long+`"`)
		}
	}
	return texts
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
