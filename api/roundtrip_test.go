package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The generated client and server of a document with all kinds of values exchange them unchanged.
func TestRoundTrip_keepsValues(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("not in the short form: it compiles the packages")
	}
	w := newWorkspace(t)
	name := filepath.Join(w.dir, "api", "openapi.yaml")
	document, err := os.ReadFile(name)
	w.check(err)
	text := string(document)
	for part, after := range map[string]string{"paths.yaml": "\npaths:\n", "schemas.yaml": "\n  schemas:\n"} {
		added, err := os.ReadFile(filepath.Join("testdata", "roundtrip", part))
		w.check(err)
		text = strings.Replace(text, after, after+string(added), 1)
	}
	w.check(os.WriteFile(name, []byte(text), 0o600))
	if output, err := w.run("make", "generate"); err != nil {
		t.Fatal(output)
	}
	if output, err := w.run("go", "test", "./api/testdata/roundtrip"); err != nil {
		t.Error(output)
	}
}
