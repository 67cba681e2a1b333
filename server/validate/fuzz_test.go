package validate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
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

// FuzzStyles checks that no parameter causes a panic, and that an accepted parameter is stored as JSON that
// matches the schema.
func FuzzStyles(f *testing.F) {
	const schema = `{"type": ["array", "object", "integer"], "items": {"type": ["integer", "string", "null"], "maxLength": 5},
		"properties": {"a": {"type": "boolean"}, "b": {"type": "array", "items": {"type": "number"}}}, "maxProperties": 4}`
	type target struct {
		styled
		operation *validate.Operation
	}
	var targets []target
	for _, s := range styles {
		targets = append(targets, target{s.styled, s.operation(f, "it", schema)})
	}
	s := compileSchemas(f, `{"S": `+schema+`}`)
	for _, text := range []string{
		"1", "a,1,b,2", "a=true", ".1.2", ".a=true.b=1", ";it=1;it=2", ";a=true;b=1", "it=1&it=2", "it=1%202", "it=1%7C2", "it[a]=true&it[b][0]=1",
		"it[b][]=1&it[b][]=x", "it[a][a][a]=1", "%", "%ff", ";", ",", "=", "it[", "it=null", "a=\xff",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, target := range targets {
			r := target.request("it", text)
			if r == nil {
				continue
			}
			if got := serve(t, target.operation, r); got.err != nil {
				continue
			}
			if left := r.PathValue(target.in + ":it"); !json.Valid([]byte(left)) || s.Validate([]byte(left)) != nil {
				t.Errorf("%s: %q is accepted as %q", target, text, left)
			}
		}
	})
}

// FuzzMultipart checks that no multipart body causes a panic, and that an accepted body is passed on with the
// same parts, so that it is accepted again.
func FuzzMultipart(f *testing.F) {
	o := operationOf(f, "POST", taking(partsContent), anyObject, validate.Config{})
	const contentType = "multipart/form-data; boundary=b"
	part := func(header, text string) string { return "--b\r\n" + header + "\r\n\r\n" + text + "\r\n" }
	const title, file = `Content-Disposition: form-data; name="title"`, `Content-Disposition: form-data; name="file"; filename="f"`
	for _, body := range []string{
		part(title, "Ada") + part(file, "x") + "--b--", part(file, "") + part(title, "Ada") + "--b--\r\nmore", "before\r\n" + part(title, "A"), "--b--", "",
		part(title+"\r\nContent-Transfer-Encoding: quoted-printable", "=41da") + part(file, "\r\n--c") + "--b--",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		read := func(body []byte) (passed []byte, parts string, err error) {
			r := httptest.NewRequest(http.MethodPost, "/p", bytes.NewReader(body))
			r.Header.Set("Content-Type", contentType)
			o.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if passed, err = io.ReadAll(r.Body); err != nil {
					return
				}
				again := httptest.NewRequest(http.MethodPost, "/p", bytes.NewReader(passed))
				again.Header.Set("Content-Type", contentType)
				if parts, err = readParts(again); err != nil {
					t.Errorf("%q has become %q: %v", body, passed, err)
				}
			}), func(_ http.ResponseWriter, _ *http.Request, refused error) { err = refused }).ServeHTTP(httptest.NewRecorder(), r)
			return passed, parts, err
		}
		passed, parts, err := read(body)
		if err != nil {
			return
		}
		if again, same, err := read(passed); err != nil || !bytes.Equal(again, passed) || same != parts {
			t.Errorf("%q, read as %q, becomes %q, %v", passed, parts, again, err)
		}
	})
}

// FuzzQuery checks that no query causes a panic, and that an accepted parameter has the value that net/url
// reads.
func FuzzQuery(f *testing.F) {
	o := operationOf(f, "GET", `{"parameters": [{"name": "id", "in": "query", "required": true, "schema": {"type": "string"}}],
		"responses": {"200": {"description": "d"}}}`, anyObject, validate.Config{})
	for _, query := range []string{"", "id", "id=abc", "&&id=abc&", "id=%zz", "%zz=1&id=abc", "i%64=a%62+c", "id=a&%69d=b", "id=a;b", "a;id=1&id=abc", "id=a=b", "id=%ff"} {
		f.Add(query)
	}
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

// FuzzForm checks that no form causes a panic, and that the JSON of an accepted form matches the schema and
// has the fields that net/url reads.
func FuzzForm(f *testing.F) {
	const schema = `{"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "age": {"type": "integer"},
		"tags": {"type": "array", "items": {"type": "string"}}, "where": {"type": "object", "properties": {"zip": {"type": "integer"}}}}}`
	o := operationOf(f, "POST", taking(`"application/x-www-form-urlencoded": {"schema": `+schema+`}`), anyObject, validate.Config{})
	s := compileSchemas(f, `{"S": `+schema+`}`)
	for _, body := range []string{"name=a", "name=a&age=1", "name=a&tags=b&tags=c", "name=%20&tags[0]=b", "name=a&where[zip]=1", `name=a&where={"zip":1}`, "name=a;b", "&&=", "name=%ff"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequest(http.MethodPost, "/p", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		o.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			text := bytes.Clone(r.Body.(interface{ ValidJSON() []byte }).ValidJSON())
			if err := s.Validate(text); err != nil {
				t.Errorf("%q is accepted as %s: %v", body, text, err)
			}
			values, err := url.ParseQuery(body)
			var object struct {
				Name string `json:"name"`
			}
			if json.Unmarshal(text, &object) != nil || err == nil && values.Get("name") != object.Name {
				t.Errorf("%q is read as %s, and net/url reads %q, %v", body, text, values, err)
			}
		}), func(http.ResponseWriter, *http.Request, error) {}).ServeHTTP(httptest.NewRecorder(), r)
	})
}
