package validate_test

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// styled is a style of a parameter in one location.
type styled struct {
	in, style string
	explode   bool
}

// styles returns all combinations that OpenAPI 3.1 defines for arrays and objects.
func styles() []styled {
	var all []styled
	for in, names := range map[string][]string{
		"path":   {"simple", "label", "matrix"},
		"query":  {"form", "spaceDelimited", "pipeDelimited", "deepObject"},
		"header": {"simple"},
		"cookie": {"form"},
	} {
		for _, style := range names {
			all = append(all, styled{in, style, false}, styled{in, style, true})
		}
	}
	return all
}

func (s styled) String() string {
	return s.in + " " + s.style + map[bool]string{true: " exploded"}[s.explode]
}

// escape escapes a text for the location of the parameter.
func (s styled) escape(text string) string {
	switch s.in {
	case "path":
		return strings.ReplaceAll(url.PathEscape(text), "=", "%3D")
	case "query":
		return url.QueryEscape(text)
	}
	return text
}

// write is the inverse of the decoding in the package: RFC 6570 as OpenAPI uses it. texts is a single text, a
// list of texts, or alternating names and texts.
func (s styled) write(name string, kind string, texts []string) string {
	escaped := make([]string, len(texts))
	for i, text := range texts {
		escaped[i] = s.escape(text)
	}
	pairs := func(separator string) []string {
		var all []string
		for i := 0; i+1 < len(escaped); i += 2 {
			all = append(all, escaped[i]+separator+escaped[i+1])
		}
		return all
	}
	each := func(prefix string) []string {
		all := make([]string, len(escaped))
		for i, text := range escaped {
			all[i] = prefix + text
		}
		return all
	}
	isObject, name := kind == "object", s.escape(name)
	delimiter := map[string]string{"spaceDelimited": "%20", "pipeDelimited": "%7C"}[s.style]
	if delimiter == "" {
		delimiter = ","
	}
	between := "&"
	if s.in == "cookie" {
		between = "; "
	}
	switch {
	case s.style == "deepObject":
		var all []string
		for _, pair := range pairs("]=") {
			all = append(all, name+"["+pair)
		}
		return strings.Join(all, "&")
	case s.in == "query" || s.in == "cookie":
		switch {
		case s.explode && isObject:
			return strings.Join(pairs("="), between)
		case s.explode:
			return strings.Join(each(name+"="), between)
		}
		return name + "=" + strings.Join(escaped, delimiter)
	case s.style == "matrix":
		switch {
		case s.explode && isObject:
			return ";" + strings.Join(pairs("="), ";")
		case s.explode:
			return strings.Join(each(";"+name+"="), "")
		}
		return ";" + name + "=" + strings.Join(escaped, ",")
	}
	prefix := ""
	if s.style == "label" {
		prefix = "."
		if s.explode {
			delimiter = "."
		}
	}
	if s.explode && isObject {
		return prefix + strings.Join(pairs("="), delimiter)
	}
	return prefix + strings.Join(escaped, delimiter)
}

// operation compiles an operation with the parameter.
func (s styled) operation(tb testing.TB, name, schema string) *validate.Operation {
	tb.Helper()
	path := "/p"
	if s.in == "path" {
		path = "/a/{" + name + "}/b"
	}
	v := compile(tb, `{"paths": {"`+path+`": {"get": {"parameters": [{"name": "`+name+`", "in": "`+s.in+`", "required": true,
		"style": "`+s.style+`", "explode": `+strconv.FormatBool(s.explode)+`, "schema": `+schema+`}],
		"responses": {"200": {"description": "d"}}}}}}`)
	for o := range v.Operations() {
		return o
	}
	return nil
}

// request returns a request with the written parameter, or nil if it cannot be in a path.
func (s styled) request(name, written string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/p", nil)
	switch s.in {
	case "path":
		u, err := url.ParseRequestURI("/base/a/" + strings.ReplaceAll(written, "/", "%2F") + "/b")
		if err != nil {
			return nil
		}
		r.URL = u
	case "query":
		r.URL.RawQuery = written
	case "header":
		r.Header[http.CanonicalHeaderKey(name)] = []string{written}
	case "cookie":
		r.Header.Set("Cookie", written)
	}
	return r
}

// texts returns random texts that the style can represent: without delimiters in styles without escaping, and
// without dots in labels.
func (s styled) texts(g *generator, n int) []string {
	alphabet := []string{"a", "Z", "7", "-", "_", "~", "ä", "€"}
	if s.in == "path" || s.in == "query" {
		alphabet = append(alphabet, " ", "%", "/", "?", "+", "&", "=", "#", `"`, `\`, "{", "[", "]", "\n", ";", ":", "@", "!", "'")
	}
	if s.in == "path" && s.style != "label" {
		alphabet = append(alphabet, ".")
	}
	if (s.in == "path" || s.in == "query") && s.style != "pipeDelimited" {
		alphabet = append(alphabet, "|")
	}
	if s.in == "query" || s.in == "path" {
		alphabet = append(alphabet, ",")
	}
	if s.in == "cookie" {
		alphabet = []string{"a", "Z", "7", "-", "_", "~", "+", "%", "/", ":"}
	}
	switch {
	case s.style == "spaceDelimited" && !s.explode:
		alphabet[8] = "x" // no space
	case s.style == "deepObject":
		alphabet = slices.DeleteFunc(alphabet, func(text string) bool { return text == "[" || text == "]" })
	}
	all := make([]string, n)
	for i := range all {
		all[i] = strconv.Itoa(i) // makes names unique, and no text is empty
		for range g.IntN(4) {
			all[i] += pick(g, alphabet...)
		}
		all[i] += "x"
	}
	return all
}

// A value that is written in a style decodes to the same value: it matches a const of the value and no other
// const.
func TestStyles_decodeWhatWasWritten(t *testing.T) {
	t.Parallel()
	const name = "it"
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	for _, s := range styles() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			g := &generator{Rand: rand.New(rand.NewPCG(7, 11))}
			for range rounds {
				kind := pick(g, "array", "object")
				if s.style == "deepObject" || (s.style == "spaceDelimited" || s.style == "pipeDelimited") && s.explode {
					kind = map[bool]string{true: "object", false: "array"}[s.style == "deepObject"]
				}
				texts := s.texts(g, 2*(1+g.IntN(3)))
				var value any = texts
				schema := object{"type": kind}
				if kind == "object" {
					members, properties := object{}, object{}
					for i := 0; i < len(texts); i += 2 {
						members[texts[i]], properties[texts[i]] = texts[i+1], object{"type": "string"}
					}
					value = members
					schema["properties"] = properties
				}
				schema["const"] = value
				written := s.write(name, kind, texts)
				if s.in == "cookie" && kind == "object" && s.explode {
					continue // cookie names must be tokens
				}
				o := s.operation(t, name, asJSON(schema))
				if got := violations(serve(t, o, s.request(name, written)).err); got != "ok" {
					t.Fatalf("%q of %s: got %s", written, asJSON(schema), got)
				}
				schema["const"] = "another"
				o = s.operation(t, name, asJSON(schema))
				if got := violations(serve(t, o, s.request(name, written)).err); !strings.Contains(got, s.in+":it const") {
					t.Fatalf("%q of %s: got %s", written, asJSON(schema), got)
				}
			}
		})
	}
}

// Texts become numbers, booleans and null where the schema allows these types, without normalization.
func TestStyles_decodeScalarsByType(t *testing.T) {
	t.Parallel()
	const schema = `{"type": "array", "items": {"type": ["integer", "boolean", "null"], "maximum": 900719925474099}, "minItems": 1}`
	for _, s := range styles() {
		if s.style == "deepObject" || s.style == "label" && s.explode {
			continue
		}
		o := s.operation(t, "it", schema)
		for _, c := range []struct {
			texts []string
			want  string
		}{
			{[]string{"1", "-2", "true", "null", "900719925474099"}, "ok"},
			{[]string{"1", "900719925474100"}, s.in + ":it/1 maximum"},
			{[]string{"1", "1e3"}, s.in + ":it/1 type"},
			{[]string{"1", "1.0"}, s.in + ":it/1 type"},
			{[]string{"01"}, s.in + ":it/0 type"},
			{[]string{"True", "x"}, s.in + ":it/0 type, " + s.in + ":it/1 type"},
		} {
			if got := violations(serve(t, o, s.request("it", s.write("it", "array", c.texts))).err); got != c.want {
				t.Errorf("%s %v: got %s, want %s", s, c.texts, got, c.want)
			}
		}
	}
}

// If a text can have several types, the type that matches the schema is used.
func TestStyles_decodeTheMatchingType(t *testing.T) {
	t.Parallel()
	for schema, cases := range map[string]map[string]string{
		`{"type": ["string", "integer"], "maximum": 5, "maxLength": 3}`:     {"it=4": "ok", "it=6": "ok", "it=abc": "ok", "it=abcd": "query:it maxLength"},
		`{"type": ["integer", "null"]}`:                                     {"it=4": "ok", "it=null": "ok", "it=": "query:it required", "it=x": "query:it type"},
		`{"enum": [1, "2", true, null]}`:                                    {"it=1": "ok", "it=2": "ok", "it=true": "ok", "it=null": "ok", "it=3": "query:it enum"},
		`{"anyOf": [{"type": "string", "maxLength": 1}, {"type": "null"}]}`: {"it=a": "ok", "it=null": "ok", "it=ab": "query:it maxLength"},
		`{}`: {"it=": "query:it required", "it=x": "ok", "it=1,2": "ok"},
		`{"type": ["array", "integer"], "items": {"type": "integer"}}`: {"it=1": "ok", "it=1&it=2": "ok", "it=x": "query:it type", "it=x&it=y": "query:it/0 type, query:it/1 type"},
	} {
		checkQueries(t, styled{"query", "form", true}.operation(t, "it", schema), cases)
	}
}

// All parts of the schema together determine the JSON of a text.
func TestStyles_decodeByTheWholeSchema(t *testing.T) {
	t.Parallel()
	const (
		strings2 = `{"type": "string", "minLength": 2}`
		integer  = `{"type": "integer"}`
	)
	for _, c := range []struct{ schema, style, query, want string }{
		{`{"type": "array", "prefixItems": [` + integer + `, {"type": "boolean"}], "items": ` + strings2 + `}`, "form", "v=1&v=true&v=12&v=13", "ok"},
		{`{"type": "array", "prefixItems": [` + strings2 + `], "items": ` + integer + `}`, "form", "v=12&v=12", "ok"},
		{`{"type": "array", "prefixItems": [` + strings2 + `], "items": ` + integer + `}`, "form", "v=12&v=x", "query:v/1 type"},
		{`{"type": "array", "allOf": [{"prefixItems": [true]}, {"prefixItems": [` + strings2 + `]}]}`, "form", "v=12", "ok"},
		{`{"type": "array", "allOf": [{"prefixItems": [true]}, {"items": ` + strings2 + `}]}`, "form", "v=12", "ok"},
		{`{"type": "array", "unevaluatedItems": ` + strings2 + `}`, "form", "v=12", "ok"},

		{`{"type": "object", "patternProperties": {"^s": ` + strings2 + `, "^i": ` + integer + `}}`, "deepObject", "v[s]=12&v[i]=12", "ok"},
		{`{"type": "object", "patternProperties": {"^s": {"maxLength": 9}, "x$": ` + strings2 + `}}`, "deepObject", "v[sx]=12", "ok"},
		{`{"type": "object", "patternProperties": {"^i": ` + integer + `}, "additionalProperties": ` + strings2 + `}`, "deepObject", "v[i]=12&v[s]=12", "ok"},
		{`{"type": "object", "patternProperties": {"^i": ` + integer + `}, "additionalProperties": ` + strings2 + `}`, "deepObject", "v[i]=x", "query:v/* type"},
		{`{"type": "object", "properties": {"s": {"maxLength": 9}}, "patternProperties": {"^s": ` + strings2 + `}}`, "deepObject", "v[s]=12", "ok"},
		{`{"type": "object", "required": ["s"], "additionalProperties": ` + strings2 + `}`, "deepObject", "v[s]=12", "ok"},
		{`{"type": "object", "properties": {"s": true}, "allOf": [{"additionalProperties": ` + strings2 + `}]}`, "deepObject", "v[s]=12", "ok"},
		{`{"type": "object", "properties": {"i": ` + integer + `}, "unevaluatedProperties": ` + strings2 + `}`, "deepObject", "v[s]=12&v[i]=12", "ok"},
	} {
		o := styled{"query", c.style, true}.operation(t, "v", c.schema)
		checkQueries(t, o, map[string]string{strings.NewReplacer("[", "%5B", "]", "%5D").Replace(c.query): c.want})
	}
}
