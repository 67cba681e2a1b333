package main

import (
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// A part that several operations refer to is refused once, where it is written, even if its schema is fine in other
// parts. Faults are in the order of the document. Nothing is generated for a callback, so none of its parts is refused.
func TestGrammar_showsEachPlaceOnce(t *testing.T) {
	t.Parallel()
	const text = `openapi: 3.1.1
info: {title: t, version: '1'}
paths:
  /a: { parameters: [ { $ref: '#/components/parameters/P' } ], get: &get { operationId: a, responses: { '200': { $ref: '#/components/responses/R' } } } }
  /b: { parameters: [ { $ref: '#/components/parameters/P' } ], get: { <<: *get, operationId: b } }
  /c: { get: { operationId: c, responses: { '200': { $ref: '#/components/responses/R' } }, callbacks: { d: { '{$url}': { post: {
    operationId: d, requestBody: { content: { application/jsonl: { x-itemSchema: {} } } }, responses: { '204': { description: d } } } } } } } }
components:
  parameters: { P: { name: p, in: query, schema: { $ref: '#/components/schemas/S' } } }
  responses: { R: { description: d, headers: { X-A: { schema: { type: 'null' } } } } }
  schemas: { S: { allOf: [ { type: object } ] } }
`
	var places []string
	document := harness.Try(load([]byte(text)))(t)
	for line := range strings.Lines(checkGrammar("a", document).Error()) {
		place, _, _ := strings.Cut(line, ": ")
		places = append(places, place)
	}
	if got := strings.Join(places, " "); got != "a:9:42 a:10:48" {
		t.Errorf("the places are %s", got)
	}
}
