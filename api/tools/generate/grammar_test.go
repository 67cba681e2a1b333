package main

import (
	"fmt"
	"strings"
	"testing"
)

// What is outside of the grammar is refused in one line, with the place, marked here by §, and the way out.
func TestGrammar_refusesWhatHasNoCode(t *testing.T) {
	t.Parallel()
	const (
		scalarOrList = "declare one type, a string, integer, number, boolean or a list of these"
		orJSON       = scalarOrList + ", or use content: application/json"
	)
	const part = "a reference to a part of a component is not generated: name the part in components, and refer to that"
	parameter := func(text string) string {
		return "  /a: { get: { operationId: a, responses: { '204': { description: d } }, parameters: [ { name: p, " + text + " } ] } }"
	}
	body := func(content string) string {
		return "  /a: { post: { operationId: a, responses: { '204': { description: d } }, requestBody: { content: { " + content + " } } } }"
	}
	response := func(response string) string {
		return "  /a: { get: { operationId: a, responses: { '200': { description: d, " + response + " } } } }"
	}
	const (
		inQuery = "in: query, "
		inForm  = "declare one type, a string, integer, number, boolean, object or a list of one of these, or set contentType to application/json in its encoding"
		json    = "encoding: { a: { contentType: application/json } }"
	)
	form := func(properties, encoding string) string {
		return body("application/x-www-form-urlencoded: { schema: { type: object, properties: { " + properties + " } }, " + encoding + " }")
	}
	for paths, want := range map[string]string{
		parameter("in: path, required: true, style: §matrix, schema: { type: string }"):                                                   "the style matrix is not generated: use simple",
		parameter("in: path, required: true, style: §label, schema: { type: string }"):                                                    "the style label is not generated: use simple",
		parameter(inQuery + "style: §spaceDelimited, schema: { type: array, items: {type: string} }"):                                     "the style spaceDelimited is not generated: use form",
		parameter(inQuery + "style: §pipeDelimited, schema: { type: array, items: {type: string} }"):                                      "the style pipeDelimited is not generated: use form",
		parameter("in: cookie, style: §cookie, schema: { type: string }"):                                                                 "the style cookie is not generated: use form",
		parameter("in: querystring, content: { application/json: {} }"):                                                                   "a parameter that is the whole query is not generated: declare each of its members in the query",
		parameter(inQuery + "schema: §{}"):                                                                                                "any value is not generated here: " + orJSON,
		parameter(inQuery + "schema: §{ type: object }"):                                                                                  "object is not generated here: " + orJSON,
		parameter(inQuery + "schema: §{ oneOf: [ { type: integer }, { enum: [all] } ] }"):                                                 "a union is not generated here: " + orJSON,
		parameter(inQuery + "schema: §{ type: [string, 'null'] }"):                                                                        "a value of several types is not generated here: " + orJSON,
		parameter(inQuery + "schema: §{ enum: [a, 1] }"):                                                                                  "a value of several types is not generated here: " + orJSON,
		parameter(inQuery + "schema: §{ type: array, items: { type: array, items: {} } }"):                                                "a list of array is not generated here: " + orJSON,
		parameter(inQuery + "schema: §{ type: array }"):                                                                                   "a list of any values is not generated here: " + orJSON,
		parameter("in: header, schema: §{ type: object }"):                                                                                "object is not generated here: " + orJSON,
		parameter("in: cookie, schema: §{ type: object }"):                                                                                "object is not generated here: " + orJSON,
		parameter(inQuery + "content: §{ text/plain: { schema: { type: string } } }"):                                                     "a parameter in text/plain is not generated: use application/json",
		parameter(inQuery + "style: deepObject, schema: { type: object, properties: { a: §{ type: array, items: { type: string } } } }"):  "the member a of a deepObject must be a string, integer, number or boolean: use content: application/json",
		parameter(inQuery + "style: deepObject, schema: { type: object, additionalProperties: §{ type: object } }"):                       "the member additionalProperties of a deepObject must be a string, integer, number or boolean: use content: application/json",
		"  /a: { query: §{ operationId: a, responses: { '204': { description: d } } } }":                                                  "the methods of OpenAPI 3.2 are not generated: use POST",
		"  /a: { additionalOperations: §{ COPY: { operationId: a, responses: { '204': { description: d } } } } }":                         "the methods of OpenAPI 3.2 are not generated: use POST",
		body("application/jsonl: { itemSchema: §{} }"):                                                                                    "a request that is a stream is not generated: use a list in application/json, or a binary body",
		body("multipart/mixed: §{ schema: { type: array } }"):                                                                             "multipart/mixed is not generated: use multipart/form-data",
		body("multipart/form-data: { schema: { type: array }, prefixEncoding: §[ {} ] }"):                                                 "parts without a name are not generated: name them, and use encoding",
		response("content: { application/json-seq: { itemSchema: §{} } }"):                                                                "a JSON text sequence is not generated: use application/jsonl",
		response("content: { multipart/mixed: §{ itemSchema: {} } }"):                                                                     "multipart/mixed is not generated: use multipart/form-data",
		response("headers: { X-A: { schema: §{ type: object } } }"):                                                                       "object is not generated here: " + scalarOrList,
		response("content: { application/json: { schema: { properties: { $ref: { $ref: §'#/components/schemas/A/properties/a' } } } } }"): part,
		response("content: { application/json: { schema: { items: { $ref: §'#here' } } } }"):                                              part,
		response("content: { application/json: { schema: { type: string, nullable: §true } } }"):                                          "nullable is of OpenAPI 3.0: add 'null' to the type",
		parameter(inQuery + "content: { application/json: { schema: §{ anyOf: [ { type: 'null' }, {} ] } } }"):                            "a parameter that may be null is not generated: leave it out instead",
		body("application/json: { schema: §{ type: [string, 'null'] } }"):                                                                 "an optional body that may be null is not generated: set required to true, or allow no null",
		form("p: §{ type: [string, 'null'] }", ""):                                                                                        "the field p of a form is a value of several types, which is not generated: " + inForm,
		form("p: §{ oneOf: [ { type: string }, { type: integer } ] }", ""):                                                                "the field p of a form is a union, which is not generated: " + inForm,
		form("p: §{}", ""):              "the field p of a form is any value, which is not generated: " + inForm,
		form("p: §{ type: array }", ""): "the field p of a form is list of any value, which is not generated: " + inForm,
		form("p: { type: array, items: §{ type: [integer, 'null'] } }", ""):         "the field p of a form is a value of several types, which is not generated: " + inForm,
		form("a: {} }, additionalProperties: §{ enum: [ a, null ] }, x-a: {", json): "the field additionalProperties of a form is a value of several types, which is not generated: " + inForm,
		response("headers: { X-A: { content: §{ application/json: {} } } }"):        "a header of a response with a media type is not generated: use a scalar or a list, or the body",
	} {
		before, after, marked := strings.Cut(paths, "§")
		if !marked { // the whole parameter
			before, after = before[:strings.Index(before, "{ name: p")], before[strings.Index(before, "{ name: p"):]
		}
		err := checkGrammar("api/a.yaml", []byte("openapi: 3.2.0\ninfo: {title: t, version: '1'}\npaths:\n"+before+after))
		if want := fmt.Sprintf("api/a.yaml:4:%d: %s", len(before)+1, want); err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", paths, err, want)
		}
	}
}

// A part that several operations refer to is refused once, where it is written, and faults are in the order of the document.
func TestGrammar_showsEachPlaceOnce(t *testing.T) {
	t.Parallel()
	const text = `openapi: 3.1.1
info: {title: t, version: '1'}
paths:
  /a: { parameters: [ { $ref: '#/components/parameters/P' } ], get: &get { operationId: a, responses: { '200': { $ref: '#/components/responses/R' } } } }
  /b: { parameters: [ { $ref: '#/components/parameters/P' } ], get: { <<: *get, operationId: b } }
  /c: { $ref: '#/components/pathItems/C' }
components:
  pathItems: { C: { get: { operationId: c, responses: { '200': { $ref: '#/components/responses/R' } }, callbacks: { d: { '{$url}': { post: {
    operationId: d, requestBody: { content: { application/jsonl: { x-itemSchema: {} } } }, responses: { '204': { description: d } } } } } } } } }
  parameters: { P: { name: p, in: query, schema: { $ref: '#/components/schemas/S' } } }
  responses: { R: { description: d, headers: { X-A: { schema: { type: 'null' } } } } }
  schemas: { S: { allOf: [ { type: object } ] } }
`
	var places []string
	for line := range strings.Lines(checkGrammar("a", []byte(text)).Error()) {
		place, _, _ := strings.Cut(line, ": ")
		places = append(places, place)
	}
	if got := strings.Join(places, " "); got != "a:9:82 a:11:63 a:12:17" {
		t.Errorf("the places are %s", got)
	}
}
