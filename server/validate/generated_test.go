package validate_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// The generated server and the generated client of a document with all kinds of operations work with each
// other through the validator. The test writes the document, generates the code, and runs the tests of
// package generated in testdata.
func TestHandler_servesGeneratedClients(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("generates and compiles a package")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = root
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, output)
		}
	}
	folder := filepath.Join(root, "server/validate/testdata/generated")
	temp := t.TempDir()
	document, code, overlay := filepath.Join(temp, "openapi.json"), filepath.Join(temp, "code.go"), filepath.Join(temp, "overlay.json")
	write(t, document, withStyles(t, filepath.Join(folder, "openapi.json")))
	run("run", "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen",
		"--config", filepath.Join(folder, "config.yaml"), "-o", code, document)
	write(t, overlay, object{"Replace": object{
		filepath.Join(folder, "code.go"):       code,
		filepath.Join(folder, "document.json"): document,
	}})
	run("test", "-count=1", "-overlay", overlay, "./server/validate/testdata/generated")
}

func write(tb testing.TB, path string, content any) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(asJSON(content)), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// withStyles returns the document with one operation for each style of a parameter. The operation id
// describes the parameter.
func withStyles(tb testing.TB, path string) object {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	var document object
	if err := json.Unmarshal(text, &document); err != nil {
		tb.Fatal(err)
	}
	paths := document["paths"].(object)
	for _, s := range styles() {
		schemas := object{
			"Array": object{"type": "array", "items": object{"type": "string"}}, "Numbers": object{"type": "array", "items": object{"type": "integer"}},
			"Words": object{"$ref": "#/components/schemas/Words"}, "Object": object{"$ref": "#/components/schemas/Point"},
			"Scalar": object{"type": "integer"}, "Text": object{"type": "string"},
		}
		for kind, schema := range schemas {
			isObject, isList := kind == "Object" || kind == "Words", kind == "Array" || kind == "Numbers"
			switch {
			case s.style == "deepObject" && (!isObject || !s.explode),
				(s.style == "spaceDelimited" || s.style == "pipeDelimited") && (!isObject && !isList || s.explode):
				continue // not defined by OpenAPI
			}
			id := s.in + "-" + s.style + "-" + strconv.FormatBool(s.explode) + "-" + kind
			name := "/styles/" + id
			if s.in == "path" {
				name += "/{it}"
			}
			paths[name] = object{"get": object{
				"operationId": id,
				"parameters":  []any{object{"name": "it", "in": s.in, "required": true, "style": s.style, "explode": s.explode, "schema": schema}},
				"responses":   object{"204": object{"description": "d"}},
			}}
		}
	}
	content := object{"application/json": object{"schema": object{"$ref": "#/components/schemas/Point"}}}
	for _, in := range []string{"query", "header", "cookie"} {
		id := in + "-content-false-Object"
		paths["/styles/"+id] = object{"get": object{
			"operationId": id,
			"parameters":  []any{object{"name": "it", "in": in, "required": true, "content": content}},
			"responses":   object{"204": object{"description": "d"}},
		}}
	}
	return document
}
