package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// The generated client and server exchange the values of a document whose parts TestSmith does not write: several media
// types of one body, styles of the fields of forms, defaults of discriminators, and streams that fail or are resumed.
func TestRoundTrip_keepsValues(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it compiles the packages")
	w := newWorkspace(t)
	name := filepath.Join(w.dir, "api", "openapi.yaml")
	document, err := os.ReadFile(name)
	w.check(err)
	text := strings.Replace(string(document), "openapi: 3.1.1\n", "openapi: 3.2.0\n", 1)
	for _, part := range [][2]string{ // in this order, so that the go command has compiled the same code before
		{"roundtrip/paths.yaml", "\npaths:\n"},
		{"roundtrip/queries.yaml", "\npaths:\n"},
		{"roundtrip/streams.yaml", "\npaths:\n"},
		{"texts/paths.yaml", "\npaths:\n"},
		{"roundtrip/mediatypes.yaml", "\ncomponents:\n"},
		{"roundtrip/responses.yaml", "\n  responses:\n"},
		{"roundtrip/schemas.yaml", "\n  schemas:\n"},
	} {
		added, err := os.ReadFile(filepath.Join("testdata", part[0]))
		w.check(err)
		text = strings.Replace(text, part[1], part[1]+string(added), 1)
	}
	w.check(os.WriteFile(name, []byte(text), 0o600))
	if output, err := w.run("make", "generate"); err != nil {
		t.Fatal(output)
	}
	if output, err := w.run("go", "test", "./api/testdata/roundtrip", "./api/testdata/texts"); err != nil {
		t.Error(output)
	}
}
