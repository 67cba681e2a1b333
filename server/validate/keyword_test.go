package validate_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// keywordCase is a schema with a value that the keyword allows and one that it rejects.
type keywordCase struct{ schema, valid, invalid string }

// keywordCases has all keywords that have an effect.
var keywordCases = map[string]keywordCase{
	"$anchor":               {`{"properties": {"a": {"$ref": "#it"}}, "$defs": {"x": {"$anchor": "it", "type": "null"}}}`, `{"a": null}`, `{"a": 1}`},
	"$defs":                 {`{"$id": "s:a", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "null"}}}`, `{"a": null}`, `{"a": 1}`},
	"definitions":           {`{"$id": "s:d", "properties": {"a": {"$ref": "#/definitions/x"}}, "definitions": {"x": {"type": "null"}}}`, `{"a": null}`, `{"a": 1}`},
	"$dynamicAnchor":        {`{"$id": "s:b", "$dynamicAnchor": "it", "maxProperties": 1, "properties": {"a": {"$dynamicRef": "#it"}}}`, `{"a": {}}`, `{"a": {"b": 1, "c": 1}}`},
	"$dynamicRef":           {`{"$id": "s:c", "$dynamicAnchor": "it", "maxProperties": 1, "properties": {"a": {"$dynamicRef": "#it"}}}`, `{"a": {}}`, `{"a": {"b": 1, "c": 1}}`},
	"$id":                   {`{"$id": "https://a.example/s", "items": {"$ref": "/t"}, "$defs": {"x": {"$id": "t", "type": "null"}}}`, `[null]`, `[1]`},
	"$ref":                  {`{"items": {"$ref": "#/components/schemas/S"}, "maxItems": 1}`, `[[]]`, `[[[1, 2]]]`},
	"additionalProperties":  {`{"properties": {"a": true}, "additionalProperties": {"type": "null"}}`, `{"a": 1, "b": null}`, `{"b": 1}`},
	"allOf":                 {`{"allOf": [{"minLength": 1}, {"maxLength": 2}]}`, `"ab"`, `"abc"`},
	"anyOf":                 {`{"anyOf": [{"minLength": 3}, {"pattern": "^a"}]}`, `"a"`, `"b"`},
	"const":                 {`{"const": null}`, `null`, `5`},
	"contains":              {`{"contains": {"type": "null"}}`, `[1, null]`, `[1]`},
	"dependentRequired":     {`{"dependentRequired": {"a": ["b"]}}`, `{"b": 1}`, `{"a": 1}`},
	"dependentSchemas":      {`{"dependentSchemas": {"a": {"maxProperties": 1}}}`, `{"b": 1, "c": 1}`, `{"a": 1, "b": 1}`},
	"else":                  {`{"if": {"type": "string"}, "else": {"type": "null"}}`, `null`, `1`},
	"enum":                  {`{"enum": [1, {"a": [null]}]}`, `{"a": [null]}`, `{"a": []}`},
	"exclusiveMaximum":      {`{"exclusiveMaximum": 3}`, `2.99`, `3`},
	"exclusiveMinimum":      {`{"exclusiveMinimum": 3}`, `3.01`, `3`},
	"format":                {`{"format": "ipv4"}`, `"127.0.0.1"`, `"127.0.0.01"`},
	"if":                    {`{"if": {"type": "string"}, "then": {"minLength": 1}}`, `1`, `""`},
	"items":                 {`{"items": {"type": "null"}}`, `[null]`, `[1]`},
	"maxContains":           {`{"contains": {"type": "null"}, "maxContains": 1}`, `[null, 1]`, `[null, null]`},
	"maxItems":              {`{"maxItems": 1}`, `[1]`, `[1, 2]`},
	"maxLength":             {`{"maxLength": 1.0}`, `"a"`, `"ab"`},
	"maxProperties":         {`{"maxProperties": 0}`, `{}`, `{"a": 1}`},
	"maximum":               {`{"maximum": 0.1}`, `0.1`, `0.10000000000000000000001`},
	"minContains":           {`{"contains": {"type": "null"}, "minContains": 2}`, `[null, null]`, `[null]`},
	"minItems":              {`{"minItems": 1}`, `[1]`, `[]`},
	"minLength":             {`{"minLength": 1}`, `"a"`, `""`},
	"minProperties":         {`{"minProperties": 1}`, `{"a": 1}`, `{}`},
	"minimum":               {`{"minimum": 9007199254740993}`, `9007199254740993`, `9007199254740992`},
	"multipleOf":            {`{"multipleOf": 0.01}`, `4.35`, `4.351`},
	"not":                   {`{"not": {"type": "null"}}`, `1`, `null`},
	"oneOf":                 {`{"oneOf": [{"minLength": 2}, {"maxLength": 3}]}`, `"a"`, `"abc"`},
	"pattern":               {`{"pattern": "^a"}`, `"ab"`, `"b"`},
	"patternProperties":     {`{"patternProperties": {"^a": {"type": "null"}}}`, `{"b": 1}`, `{"ab": 1}`},
	"prefixItems":           {`{"prefixItems": [{"type": "null"}]}`, `[null, 1]`, `[1]`},
	"properties":            {`{"properties": {"a": false}}`, `{"b": 1}`, `{"a": 1}`},
	"propertyNames":         {`{"propertyNames": {"maxLength": 1}}`, `{"a": 1}`, `{"ab": 1}`},
	"required":              {`{"required": ["a"]}`, `{"a": 1}`, `{}`},
	"then":                  {`{"if": {"type": "string"}, "then": {"minLength": 1}}`, `"a"`, `""`},
	"type":                  {`{"type": ["null", "array"]}`, `[]`, `{}`},
	"unevaluatedItems":      {`{"allOf": [{"prefixItems": [true]}], "unevaluatedItems": false}`, `[1]`, `[1, 2]`},
	"unevaluatedProperties": {`{"allOf": [{"properties": {"a": true}}], "unevaluatedProperties": false}`, `{"a": 1}`, `{"b": 1}`},
	"uniqueItems":           {`{"uniqueItems": true}`, `[1, "1", {"a": 1}]`, `[{"a": 1, "b": 2}, {"b": 2.0, "a": 1e0}]`},
	"readOnly":              {`{"properties": {"a": {"readOnly": true}}}`, ``, ``},
	"writeOnly":             {`{"properties": {"a": {"writeOnly": true}}}`, ``, ``},
}

// annotations are the keywords that JSON Schema or OpenAPI define as annotations.
var annotations = []string{
	"$comment", "$schema", "$vocabulary", "contentEncoding", "contentMediaType", "contentSchema", "default", "deprecated", "description",
	"discriminator", "example", "examples", "externalDocs", "title", "xml",
}

// Each keyword of a document has an effect or is an annotation.
func TestSchema_Validate_enforcesEveryKeyword(t *testing.T) {
	t.Parallel()
	listed := slices.Sorted(maps.Keys(keywordCases))
	listed = append(listed, annotations...)
	slices.Sort(listed)
	if known := validate.Keywords(); !slices.Equal(known, listed) {
		t.Errorf("Load knows %q, and the test %q", known, listed)
	}
	for keyword, c := range keywordCases {
		if c.valid == "" {
			continue
		}
		t.Run(strings.TrimPrefix(keyword, "$"), func(t *testing.T) {
			t.Parallel()
			s := compileSchemas(t, `{"S": `+c.schema+`}`)
			checkBodies(t, s, map[string]string{c.valid: "ok"})
			if s.Validate([]byte(c.invalid)) == nil {
				t.Errorf("%s is accepted", c.invalid)
			}
		})
	}
}

// A member that is not sent in a direction is not required in it, whichever schema for the object requires it. In not
// and if, which only test the value, required has its own meaning.
func TestOperation_requiresNoReadOnlyMemberFromAnywhere(t *testing.T) {
	t.Parallel()
	const properties = `"properties": {"n": {}, "id": {"readOnly": true}, "key": {"writeOnly": true}}`
	const required = `"required": ["n", "id", "key"]`
	for name, schema := range map[string]string{
		"beside":            `{` + properties + `, ` + required + `}`,
		"allOf":             `{"allOf": [{` + properties + `}, {` + required + `}]}`,
		"outer":             `{"allOf": [{` + properties + `}], ` + required + `}`,
		"$ref":              `{"$ref": "#/components/schemas/P", ` + required + `}`,
		"then":              `{` + properties + `, "if": {"required": ["n"]}, "then": {` + required + `}, "else": false}`,
		"anyOf":             `{` + properties + `, "anyOf": [{"type": "array"}, {` + required + `}]}`,
		"oneOf":             `{` + properties + `, "oneOf": [{"required": ["other"]}, {` + required + `}]}`,
		"dependentRequired": `{` + properties + `, "required": ["n"], "dependentRequired": {"n": ["id", "key"]}}`,
		"dependentSchemas":  `{` + properties + `, "required": ["n"], "dependentSchemas": {"n": {` + required + `}}}`,
		"nested allOf":      `{"allOf": [{"allOf": [{"allOf": [{` + properties + `}]}]}, {"allOf": [{` + required + `}]}]}`,
		"not":               `{` + properties + `, ` + required + `, "not": {"required": ["id", "key"]}}`,
		"items":             `{"allOf": [{"items": {` + properties + `}}, {"items": {` + required + `}}]}`,
	} {
		content := `{"content": {"application/json": {"schema": ` + schema + `}}`
		v := compile(t, `{"paths": {"/p": {"post": {"requestBody": `+content+`}, "responses": {"200": `+content+`, "description": "d"}}}}},
			"components": {"schemas": {"P": {`+properties+`}}}}`)
		o, _ := v.Operation("POST", "/p")
		wrap := func(body string) string {
			if name == "items" {
				return "[" + body + "]"
			}
			return body
		}
		if got := violations(serve(t, o, jsonRequest("POST", "/p", wrap(`{"n": 1, "key": 1}`))).err); got != "ok" {
			t.Errorf("%s: a request has %s", name, got)
		}
		header := http.Header{"Content-Type": {"application/json"}}
		if got := violations(failure(t, o.Response(200, header, []byte(wrap(`{"n": 1, "id": 1}`))))); got != "ok" {
			t.Errorf("%s: a response has %s", name, got)
		}
		for _, body := range []string{`{"n": 1, "key": 1, "id": 1}`, `{"n": 1}`, `{"key": 1}`} {
			if got := violations(serve(t, o, jsonRequest("POST", "/p", wrap(body))).err); got == "ok" {
				t.Errorf("%s: a request with %s is valid", name, body)
			}
		}
	}
}

// A readOnly value must not be in a request and a writeOnly value must not be in a response, even if it is
// required. The directions are swapped for webhooks.
func TestOperation_enforcesReadOnlyAndWriteOnly(t *testing.T) {
	t.Parallel()
	const operation = `{"requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}},
		"responses": {"200": {"description": "d", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}}}}`
	v := compile(t, `{"paths": {"/p": {"post": `+operation+`}}, "webhooks": {"w": {"post": `+operation+`}}, "components": {"schemas": {
		"S": {"required": ["id", "password", "name"], "properties": {"id": {"$ref": "#/components/schemas/ID"}, "password": {"type": "string", "writeOnly": true}}},
		"ID": {"type": "string", "readOnly": true}}}}`)
	o, _ := v.Operation("POST", "/p")
	w, _ := v.Webhook("w")
	for body, want := range map[string][2]string{ // as a request and as a notification
		`{"id": "1", "password": "p", "name": "n"}`: {"/id readOnly", "/password writeOnly"},
		`{"password": "p", "name": "n"}`:            {"ok", "/password writeOnly, /id required"},
		`{"id": "1", "name": "n"}`:                  {"/id readOnly, /password required", "ok"},
		`{}`:                                        {"/password required, /name required", "/id required, /name required"},
	} {
		header := http.Header{"Content-Type": {"application/json"}}
		got := [2]string{
			violations(serve(t, o, jsonRequest("POST", "/p", body)).err),
			violations(failure(t, o.Response(200, header, []byte(body)))),
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
		got = [2]string{
			violations(failure(t, w.Response(200, header, []byte(body)))),
			violations(serve(t, w, jsonRequest("POST", "/", body)).err),
		}
		if got != want {
			t.Errorf("%s in a webhook: got %q, want %q", body, got, want)
		}
	}
	s, _ := v.Schema("S")
	checkBodies(t, s, map[string]string{`{"id": "1", "password": "p", "name": "n"}`: "ok"}) // on its own
}
