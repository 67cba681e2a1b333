package clienttest_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/avatarstudio/avatarstudio/"

// The package links only packages that its users also link.
func TestImports_areThoseOfUsers(t *testing.T) {
	t.Parallel()
	linked := func(format string, packages ...string) []string {
		t.Helper()
		list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-f", format}, packages...)...)
		output, err := list.Output()
		check(t, err)
		return strings.Fields(string(output))
	}
	const foreign = "{{if not .Standard}}{{.ImportPath}}{{end}}"
	allowed := linked(foreign, module+"server", module+"server/sender", module+"client/webhook", module+"gen")
	for _, path := range linked(foreign, ".") {
		if path != module+"client/clienttest" && !slices.Contains(allowed, path) {
			t.Errorf("%s is linked", path)
		}
	}
}

// The example in the package comment is a tested example.
func TestDocumentation_containsTestedExample(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("service.go")
	check(t, err)
	tests, err := os.ReadFile("example_test.go")
	check(t, err)
	var example strings.Builder
	for line := range strings.Lines(string(source)) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			example.WriteString(code)
		} else if line == "//\n" && example.Len() > 0 {
			example.WriteString("\n")
		}
	}
	if code := strings.TrimSpace(example.String()); code == "" || !strings.Contains(string(tests), code) {
		t.Errorf("no test is:\n%s", code)
	}
}
