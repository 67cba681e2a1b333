package validate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// All parts of the schema together determine the JSON of a text.
func TestOperation_Handler_decodesTextsByTheWholeSchema(t *testing.T) {
	t.Parallel()
	const (
		strings2   = `{"type": "string", "minLength": 2}`
		integer    = `{"type": "integer"}`
		deepObject = `"style": "deepObject", "explode": true`
		form       = `"style": "form", "explode": true`
	)
	for _, c := range []struct{ schema, style, query, want string }{
		{`{"type": "array", "prefixItems": [` + integer + `, {"type": "boolean"}], "items": ` + strings2 + `}`, form, "v=1&v=true&v=12&v=13", "ok"},
		{`{"type": "array", "prefixItems": [` + strings2 + `], "items": ` + integer + `}`, form, "v=12&v=12", "ok"},
		{`{"type": "array", "prefixItems": [` + strings2 + `], "items": ` + integer + `}`, form, "v=12&v=x", "query:v/1 type"},
		{`{"type": "array", "allOf": [{"prefixItems": [true]}, {"prefixItems": [` + strings2 + `]}]}`, form, "v=12", "ok"},
		{`{"type": "array", "allOf": [{"prefixItems": [true]}, {"items": ` + strings2 + `}]}`, form, "v=12", "ok"},
		{`{"type": "array", "unevaluatedItems": ` + strings2 + `}`, form, "v=12", "ok"},

		{`{"type": "object", "patternProperties": {"^s": ` + strings2 + `, "^i": ` + integer + `}}`, deepObject, "v[s]=12&v[i]=12", "ok"},
		{`{"type": "object", "patternProperties": {"^s": {"maxLength": 9}, "x$": ` + strings2 + `}}`, deepObject, "v[sx]=12", "ok"},
		{`{"type": "object", "patternProperties": {"^i": ` + integer + `}, "additionalProperties": ` + strings2 + `}`, deepObject, "v[i]=12&v[s]=12", "ok"},
		{`{"type": "object", "patternProperties": {"^i": ` + integer + `}, "additionalProperties": ` + strings2 + `}`, deepObject, "v[i]=x", "query:v/* type"},
		{`{"type": "object", "properties": {"s": {"maxLength": 9}}, "patternProperties": {"^s": ` + strings2 + `}}`, deepObject, "v[s]=12", "ok"},
		{`{"type": "object", "required": ["s"], "additionalProperties": ` + strings2 + `}`, deepObject, "v[s]=12", "ok"},
		{`{"type": "object", "properties": {"s": true}, "allOf": [{"additionalProperties": ` + strings2 + `}]}`, deepObject, "v[s]=12", "ok"},
		{`{"type": "object", "properties": {"i": ` + integer + `}, "unevaluatedProperties": ` + strings2 + `}`, deepObject, "v[s]=12&v[i]=12", "ok"},
	} {
		o := operationOf(t, "GET", fmt.Sprintf(`{"parameters": [{"name": "v", "in": "query", %s, "schema": %s}],
			"responses": {"200": {"description": "d"}}}`, c.style, c.schema), anyObject, validate.Config{})
		checkQueries(t, o, map[string]string{strings.NewReplacer("[", "%5B", "]", "%5D").Replace(c.query): c.want})
	}
}
