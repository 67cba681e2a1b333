package validate_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// FuzzSchema checks that no body causes a panic or disproportionate work, and that the package accepts the
// same JSON as package jsontext.
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
	for _, text := range trickyTexts() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		original := bytes.Clone(body)
		got := failure(t, anything.Validate(body))
		if want := isStrictJSON(body); (got == nil) != want {
			t.Errorf("%q: strict JSON is %v, got %v", body, want, got)
		}
		if first, second := strict.Validate(body), strict.Validate(body); !reflect.DeepEqual(first, second) {
			t.Errorf("%q: got %v, then %v", body, first, second)
		}
		if first, second := branching.Validate(body), branching.Validate(body); !reflect.DeepEqual(first, second) {
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
		"\ufeff{}", "// x\n1", `NaN`, "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "{\"\xc3\": 1}", `"\ud800"`, `"\\ud800"`, `"\ude00\ud83d"`,
		nested(64), nested(65), strings.Repeat(`{"k":"b","x":`, 40) + "1" + strings.Repeat("}", 40), `1e99999999999999999999`, "1" + strings.Repeat("0", 400), `[1, 2.50, 1E+400, -0]`,
		`{"K": 1}`, "{\"\u212a\": 1}", `[[1, {"a": null}], {"b": [true]}, [1.0, {"a": null}], {"b": [[]]}]`, `{"k": "\u0062", "x": "\ud83d\ude00"}`,
		`{"k": "a", "s": {"k": "b", "x": 1e-9, "y": [1, {"a": null}], "z": {"b": [true]}}}`, `{"s": {"k": "a", "s": {"k"`, `{"s": {"k": "a"}}`,
		`{"k": "a", "s": {"k": "a", "k": "b"}}`, `{"s": {"s": {"k": "a"}, "k": "a"}, "k": "a"}`, `{"k": {"k": "a"}}`, `{"s": `,
		`{"a":1,"a":2}`, `{"\u0061":1,"a":2}`, `{"b":{"a":1,"a":1}}`, `{"":1,"":2}`, `{"a":1,"a":}`, `{"a":1,"a"`, `{"a":[],"a":{"b":[`,
	}
	for _, n := range []int{2, 4, 8, 17, 40, 100} { // the string crosses words, and the names are short and long, few and many
		name := func(i int) string { return `"` + strings.Repeat("é", n) + strconv.Itoa(i) + `": [0]` }
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

// isStrictJSON reports whether package jsontext accepts text, which it does only if it is I-JSON.
func isStrictJSON(text []byte) bool {
	if !jsontext.Value(text).IsValid() {
		return false
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := decoder.ReadToken(); err != nil {
			return errors.Is(err, io.EOF)
		}
		if decoder.StackDepth() > validate.MaxDepth {
			return false
		}
	}
}
