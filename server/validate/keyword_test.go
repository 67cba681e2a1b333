package validate_test

import (
	"net/http"
	"testing"
)

// A member that is not sent in a direction is not required in it, whichever schema for the object requires it. In not
// and if, which only test the value, required has its own meaning.
func TestOperation_requiresNoReadOnlyMemberFromAnywhere(t *testing.T) {
	t.Parallel()
	const properties = `"properties": {"n": {}, "id": {"readOnly": true}, "key": {"writeOnly": true}}`
	const required, a, b = `"required": ["n", "id", "key"]`, `"properties": {"id": {"const": 1, "readOnly": true}}`, `"properties": {"id": {"const": 2}}`
	for name, schema := range map[string]string{
		"beside":            `{` + properties + `, ` + required + `}`,
		"allOf":             `{"allOf": [{` + properties + `}, {` + required + `}]}`,
		"outer":             `{"allOf": [{` + properties + `}], ` + required + `}`,
		"$ref":              `{"$ref": "#/components/schemas/P", ` + required + `}`,
		"then":              `{` + properties + `, "if": {"required": ["n"]}, "then": {` + required + `}, "else": false}`,
		"anyOf":             `{` + properties + `, "anyOf": [{"type": "array"}, {` + a + `, ` + required + `}, {` + b + `, ` + required + `}]}`,
		"oneOf":             `{"oneOf": [{"required": ["other"]}, {` + required + `}], "allOf": [{"if": {}, "then": {` + properties + `}}]}`,
		"dependentRequired": `{` + properties + `, "required": ["n"], "dependentRequired": {"n": ["id", "key"]}}`,
		"dependentSchemas":  `{` + properties + `, "required": ["n"], "dependentSchemas": {"n": {` + required + `}}}`,
		"nested allOf":      `{"allOf": [{"allOf": [{"allOf": [{` + properties + `}]}]}, {"allOf": [{` + required + `}]}]}`,
		"not":               `{` + properties + `, ` + required + `, "not": {"$ref": "#r"}, "anyOf": [{"$ref": "#r"}, false]}`,
		"items":             `{"allOf": [{"items": {` + properties + `}}, {"items": {` + required + `}}]}`,
		"recursion":         `{"allOf": [{"$ref": "#/components/schemas/P"}, {"$ref": "#/components/schemas/Q"}], ` + required + `}`,
	} {
		content := `{"content": {"application/json": {"schema": ` + schema + `}}`
		v := compile(t, `{"paths": {"/p": {"post": {"requestBody": `+content+`}, "responses": {"200": `+content+`, "description": "d"}}}}},
			"components": {"schemas": {"P": {`+properties+`, "items": {"$ref": "#/components/schemas/P"}},
				"Q": {"items": {"$ref": "#/components/schemas/Q"}}, "R": {"$anchor": "r", `+required+`}}}}`)
		o, _ := v.Operation("POST", "/p")
		wrap := func(body string) string {
			if name == "items" {
				return "[" + body + "]"
			}
			return body
		}
		if got := violations(serve(t, o, jsonRequest("POST", "/p", wrap(`{"n": [], "key": 1}`))).err); got != "ok" {
			t.Errorf("%s: a request has %s", name, got)
		}
		header := http.Header{"Content-Type": {"application/json"}}
		if got := violations(failure(t, o.Response(200, header, []byte(wrap(`{"n": [], "id": 1}`))))); got != "ok" {
			t.Errorf("%s: a response has %s", name, got)
		}
		for _, body := range []string{`{"n": [], "key": 1, "id": 1}`, `{"n": []}`, `{"key": 1}`} {
			if got := violations(serve(t, o, jsonRequest("POST", "/p", wrap(body))).err); got == "ok" {
				t.Errorf("%s: a request with %s is valid", name, body)
			}
		}
	}
}

// A readOnly value must not be in a request and a writeOnly value must not be in a response, even if it is
// required.
func TestOperation_enforcesReadOnlyAndWriteOnly(t *testing.T) {
	t.Parallel()
	const operation = `{"requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}},
		"responses": {"200": {"description": "d", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}}}}`
	v := compile(t, `{"paths": {"/p": {"post": `+operation+`}}, "components": {"schemas": {
		"S": {"required": ["id", "password", "name"], "properties": {"id": {"$ref": "#/components/schemas/ID"}, "password": {"type": "string", "writeOnly": true}}},
		"ID": {"type": "string", "readOnly": true}}}}`)
	o, _ := v.Operation("POST", "/p")
	for body, want := range map[string][2]string{ // as a request and as a response
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
	}
	s, _ := v.Schema("S")
	checkBodies(t, s, map[string]string{`{"id": "1", "password": "p", "name": "n"}`: "ok"}) // on its own
}
