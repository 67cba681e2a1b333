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
		f, err := generated(t, "  /a: { get: { operationId: a, responses: { '200': { description: d, content: { application/json: { schema: { $ref: '#/components/schemas/A' } } } } } } }",
			"    A: { type: object, required: ["+required+"], properties: { b: { type: string }, a: { type: string }, c: { type: string } } }")
		harness.Check(t, err)
		if code := string(f["gen/constructors.gen.go"]); !strings.Contains(code, "func NewA(a string, b string) A {") {
			t.Errorf("required: [%s] has the constructor\n%s", required, code)
		}
	}
}
