package main

import (
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// Another order of the required members does not change a constructor, whose parameters may have the same type.
func TestConstructors_areInTheOrderOfNames(t *testing.T) {
	t.Parallel()
	for _, required := range []string{"b, a", "a, b"} {
		f, err := generated(t, "  /a: { get: { operationId: a, responses: { '200': { description: d, content: { application/json: { schema: { $ref: '#/components/schemas/Old' } } } } } } }",
			"    Old: { x-go-name: A, type: object, required: ["+required+"], properties: { b: { type: string }, a: { type: string }, c: { type: string } } }")
		harness.Check(t, err)
		if code := string(f["gen/constructors.gen.go"]); !strings.Contains(code, "func NewA(a string, b string) A {") {
			t.Errorf("required: [%s] has the constructor\n%s", required, code)
		}
	}
}

// A model with optional members prints its JSON, unless a member has the name of the method. What is only another name
// of it has no method of its own. A summary has any lines.
func TestConstructors_printModels(t *testing.T) {
	t.Parallel()
	for member, want := range map[string]bool{"text": true, "string": false} {
		f, err := generated(t, "  /a: { get: { operationId: a, tags: [First  one], summary: \"A\\n\\nb\\n\", responses: { '200': { description: d, content: { application/json: { schema: { $ref: '#/components/schemas/A' } } } }, '201': { description: d, content: { application/json: { schema: { $ref: '#/components/schemas/B' } } } } } } }",
			"    A: { type: object, properties: { "+member+": { type: string } } }\n    B: { allOf: [ { $ref: '#/components/schemas/A' } ] }")
		harness.Check(t, err)
		if got := strings.Contains(string(f["gen/constructors.gen.go"]), "func (m A) String() string"); got != want {
			t.Errorf("a model with the member %s has the method: %v", member, got)
		}
		if code := string(f["client/operations.gen.go"]); !strings.Contains(code, "\n//   - First one: [Client.A]\npackage client") {
			t.Errorf("the operations by tag are in\n%s", code[:400])
		}
	}
}
