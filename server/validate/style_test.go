package validate_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
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

// styles are all styles that OpenAPI 3.1 defines for arrays and objects, with their texts.
var styles = []struct {
	styled
	array, object string
}{
	{styled{"path", "simple", false}, "$1,$2,$3", "R,$4,G,$5"},
	{styled{"path", "simple", true}, "$1,$2,$3", "R=$4,G=$5"},
	{styled{"path", "label", false}, ".$1,$2,$3", ".R,$4,G,$5"},
	{styled{"path", "label", true}, ".$1.$2.$3", ".R=$4.G=$5"},
	{styled{"path", "matrix", false}, ";it=$1,$2,$3", ";it=R,$4,G,$5"},
	{styled{"path", "matrix", true}, ";it=$1;it=$2;it=$3", ";R=$4;G=$5"},
	{styled{"query", "form", false}, "it=$1,$2,$3", "it=R,$4,G,$5"},
	{styled{"query", "form", true}, "it=$1&it=$2&it=$3", "R=$4&G=$5"},
	{styled{"query", "spaceDelimited", false}, "it=$1%20$2+$3", "it=R%20$4%20G%20$5"},
	{styled{"query", "spaceDelimited", true}, "it=$1&it=$2&it=$3", "R=$4&G=$5"},
	{styled{"query", "pipeDelimited", false}, "it=$1|$2%7C$3", "it=R|$4|G|$5"},
	{styled{"query", "pipeDelimited", true}, "it=$1&it=$2&it=$3", "R=$4&G=$5"},
	{styled{"query", "deepObject", true}, "", "it[R]=$4&it%5BG%5D=$5"},
	{styled{"header", "simple", false}, "$1, $2,$3", "R,$4,G,$5"},
	{styled{"header", "simple", true}, "$1, $2,$3", "R=$4, G=$5"},
	{styled{"cookie", "form", false}, "it=$1,$2,$3", "it=R,$4,G,$5"},
	{styled{"cookie", "form", true}, "it=$1; it=$2; it=$3", "R=$4; G=$5"},
}

func (s styled) String() string {
	return s.in + " " + s.style + map[bool]string{true: " exploded"}[s.explode]
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

// An array and an object have these texts in each style, as in the table of OpenAPI. Headers and cookies are not
// percent-encoded.
func TestStyles_decodeTheTableOfOpenAPI(t *testing.T) {
	t.Parallel()
	texts := strings.NewReplacer("$1", "blue", "$2", "b%2Bl%2Ca%3D%26k%2F", "$3", "%C3%A9", "$4", "100", "$5", "x%2Cy")
	for _, c := range styles {
		for schema, written := range map[string]string{
			`{"type": "array"}`: c.array, `{"type": "object", "properties": {"R": {"type": "string"}, "G": {}}}`: c.object,
		} {
			want := map[bool]string{true: `["blue","b+l,a=&k/","é"]`, false: `{"R":"100","G":"x,y"}`}[written == c.array]
			if c.in == "header" || c.in == "cookie" {
				want = map[bool]string{true: texts.Replace(`["$1","$2","$3"]`), false: texts.Replace(`{"R":"$4","G":"$5"}`)}[written == c.array]
			}
			if written == "" {
				continue
			}
			r := c.request("it", texts.Replace(written))
			if got := violations(serve(t, c.operation(t, "it", schema), r).err); got != "ok" || r.PathValue(c.in+":it") != want {
				t.Errorf("%s: %s is %s, %s, want %s", c, written, got, r.PathValue(c.in+":it"), want)
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
		{`{"type": "object", "anyOf": [{"required": ["s"], "additionalProperties": ` + strings2 + `}, {"required": ["t"], "additionalProperties": true}]}`, "deepObject", "v[s]=12", "ok"},
		{`{"type": "object", "properties": {"s": true}, "allOf": [{"additionalProperties": ` + strings2 + `}]}`, "deepObject", "v[s]=12", "ok"},
		{`{"oneOf": [{"properties": {"k": {"const": "a"}, "v": ` + integer + `}}, {"properties": {"k": {"const": "b"}, "v": ` + strings2 + `}}]}`, "deepObject", "v[k]=a&v[v]=1", "ok"},
		{`{"oneOf": [{"properties": {"k": {"const": "a"}, "v": ` + integer + `}}, {"properties": {"k": {"const": "b"}, "v": ` + strings2 + `}}]}`, "deepObject", "v[k]=b&v[v]=xy", "ok"},
		{`{"type": "object", "properties": {"i": ` + integer + `}, "unevaluatedProperties": ` + strings2 + `}`, "form", "s=1&i=12", "query:v/* minLength"},
	} {
		o := styled{"query", c.style, true}.operation(t, "v", c.schema)
		checkQueries(t, o, map[string]string{strings.NewReplacer("[", "%5B", "]", "%5D").Replace(c.query): c.want})
	}
}
