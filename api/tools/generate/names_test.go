package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

func TestGenerate_keepsNamesOfEachScript(t *testing.T) {
	t.Parallel()
	f, err := generated(t, "  /a/{名前}: { get: { operationId: Öffne, parameters: [ { name: 名前, in: path, required: true, schema: { type: string } } ], responses: "+
		"{ '200': { description: d, content: { application/json: { schema: { $ref: '#/components/schemas/Élan' } } } } } } }", `
    Élan: { type: object, required: [naïve], properties: { 名前: { type: string }, 価格_usd: { type: number }, naïve: { type: string }, имя: { type: string } } }
    言語: { enum: [日本語, français] }
    Renamed: { type: object, x-go-name: Other, required: [a], properties: { a: { type: string, x-go-name: First } } }
    Named: { type: string, enum: [a, b], x-enum-varnames: [First, Second] }
    Reordered: { enum: [b, a], allOf: [ { $ref: '#/components/schemas/Named' } ] }
    Less: { enum: [b], allOf: [ { $ref: '#/components/schemas/Named' } ] }
`)
	harness.Check(t, err)
	code := strings.Join(strings.Fields(string(f["gen/api.gen.go"])), " ")
	for _, want := range []string{
		"type Élan struct { Naïve string `json:\"naïve\"` Имя *string `json:\"имя,omitempty\"` X価格Usd *float64 `json:\"価格_usd,omitempty\"` X名前 *string `json:\"名前,omitempty\"` }",
		`X言語Français X言語 = "français" X言語X日本語 X言語 = "日本語"`,
		"type Other struct { First string `json:\"a\"` }",
		`NamedFirst Named = "a" NamedSecond Named = "b"`, `ReorderedA Reordered = "a" ReorderedB Reordered = "b"`, `LessB Less = "b"`,
	} {
		if !strings.Contains(code, want) {
			t.Errorf("the code does not contain %s", want)
		}
	}
	if code := string(f["gen/constructors.gen.go"]); !strings.Contains(code, "func NewÉlan(naïve string) Élan {") {
		t.Errorf("the constructor is %s", code)
	}
	if code := string(f["client/operations.gen.go"]); !strings.Contains(code, "func (c *Client) Öffne(ctx context.Context, x名前 string,") ||
		!strings.Contains(code, "// Öffne sends GET /a/{名前}.\n") {
		t.Error("the client has no method Öffne, or no comment")
	}
}

// A parameter of a path may have the name of a function that the code calls.
func TestGenerate_keepsParametersApartFromFunctions(t *testing.T) {
	t.Parallel()
	const form = "{ schema: { type: object, properties: { f: { type: string } } } }"
	const body = "requestBody: { content: { text/plain: { schema: { type: string } }, application/x-www-form-urlencoded: " + form +
		", multipart/form-data: " + form + ", application/json: { schema: { type: string } } } }, responses: { '204': { description: d } } }"
	f, err := generated(t, "  /a: { post: { operationId: a, "+body+" }", "    A: { type: string }")
	harness.Check(t, err)
	paths, taken := "", map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^func ([a-z]\w*)[\[(]`).FindAllSubmatch(f["gen/api.gen.go"], -1) {
		name := string(match[1])
		paths += fmt.Sprintf("  /%[1]s/{%[1]s}: { post: { operationId: do %[1]s, parameters: [ { name: %[1]s, in: path, required: true, schema: { type: string } } ], %[2]s }\n", name, body)
		taken[name] = true
	}
	if !taken["decodeForm"] || !taken["partsOf"] {
		t.Errorf("the functions are %v", taken)
	}
	_, err = generated(t, paths, "    A: { type: string }")
	harness.Check(t, err)
}
