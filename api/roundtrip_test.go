package api_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/harness"
)

// The generated client and server of a document with all kinds of values exchange them unchanged.
func TestRoundTrip_keepsValues(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it compiles the packages")
	w := newWorkspace(t)
	name := filepath.Join(w.dir, "api", "openapi.yaml")
	document, err := os.ReadFile(name)
	w.check(err)
	text := strings.Replace(string(document), "openapi: 3.1.1\n", "openapi: 3.2.0\n", 1)
	for _, part := range [][2]string{ // in this order, so that the go command has compiled the same code before
		{"paths.yaml", "\npaths:\n"},
		{"queries.yaml", "\npaths:\n"},
		{"streams.yaml", "\npaths:\n"},
		{"mediatypes.yaml", "\ncomponents:\n"},
		{"responses.yaml", "\n  responses:\n"},
		{"schemas.yaml", "\n  schemas:\n"},
	} {
		added, err := os.ReadFile(filepath.Join("testdata", "roundtrip", part[0]))
		w.check(err)
		text = strings.Replace(text, part[1], part[1]+string(added), 1)
	}
	text = strings.Replace(text, "\npaths:\n", "\npaths:\n"+styles(), 1)
	w.check(os.WriteFile(name, []byte(text), 0o600))
	if output, err := w.run("make", "generate"); err != nil {
		t.Fatal(output)
	}
	if output, err := w.run("go", "test", "./api/testdata/roundtrip"); err != nil {
		t.Error(output)
	}
}

// styles returns an operation for each style of a parameter, whose operation id describes the parameter.
func styles() string {
	schemas := map[string]string{
		"Text": "{ type: string }", "Number": "{ type: number }", "Time": "{ type: string, format: date-time }",
		"Texts": "{ type: array, items: { type: string } }", "Numbers": "{ type: array, items: { type: integer } }",
		"Object": "{ $ref: '#/components/schemas/Pair' }", "Members": "{ type: object, additionalProperties: { type: string } }",
	}
	var paths []string
	for in, style := range map[string]string{"path": "simple", "query": "form", "header": "simple", "cookie": "form", "deep": "deepObject"} {
		for _, explode := range []bool{false, true} {
			for kind, schema := range schemas {
				isObject := kind == "Object" || kind == "Members"
				if isObject != (style == "deepObject") || isObject && !explode {
					continue // not in the grammar
				}
				id := fmt.Sprintf("style-%s-%s-%t-%s", in, style, explode, kind)
				path, where := "/styles/"+id, strings.Replace(in, "deep", "query", 1)
				if in == "path" {
					path += "/{it}"
				}
				paths = append(paths, fmt.Sprintf("  %s:\n    get:\n      operationId: %s\n      parameters: [ { name: it, in: %s, required: true, style: %s, explode: %t, schema: %s } ]\n"+
					"      responses: { '204': { description: d } }\n", path, id, where, style, explode, schema))
			}
		}
	}
	slices.Sort(paths)
	return strings.Join(paths, "")
}
