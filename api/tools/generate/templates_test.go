package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/gobuild"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// originals contains the checksums of the templates of oapi-codegen that ours replace, from the last comparison.
var originals = map[string]string{
	"additional-properties.tmpl":       "0f103d51a4326c94d47915773b89717f5ddf75c099ce42c952698f8d0944e131",
	"strict/strict-http.tmpl":          "6716129414539c094b3df1d5f05a785a086610e1a7fffde43263cdbcd5ace3a4",
	"strict/strict-interface.tmpl":     "c6ed32c25f5ce254d7f602088d255207365159419529f7b9959c6c5fb393c306",
	"stdhttp/std-http-middleware.tmpl": "7948102f817da01a85e01d1923bc57d52a33937c77c2a0963a2c0456544e46a0",
}

// A new version of oapi-codegen that changes a template fails this test until the templates are compared.
func TestTemplates_areComparedWithOriginals(t *testing.T) {
	t.Parallel()
	output, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/oapi-codegen/oapi-codegen/v2").Output()
	harness.Check(t, err)
	directory := filepath.Join(strings.TrimSpace(string(output)), "pkg", "codegen", "templates")
	for name, want := range originals {
		text, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s of oapi-codegen has changed: follow api/tools/generate/templates/README.md, and then set the checksum %x", name, sum)
		}
	}
	ours, err := filepath.Glob("api/tools/generate/templates/*.tmpl")
	if err != nil || len(ours) != len(originals) {
		t.Errorf("%d templates replace %d originals: %v", len(ours), len(originals), err)
	}
}

func TestTemplates_nameTheirTests(t *testing.T) {
	t.Parallel()
	text := harness.Try(os.ReadFile("api/tools/generate/templates/README.md"))(t)
	for _, name := range regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*`).FindAllString(string(text), -1) {
		found := func(directory string) bool { return gobuild.FindTest(directory, name) == nil }
		if !slices.ContainsFunc([]string{"api", "api/testdata/smith", "api/tools/generate"}, found) {
			t.Errorf("there is no test %s", name)
		}
	}
}
