package clienttest_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/avatarstudio/avatarstudio/"

// The package links what its users also link, and of the service only the rules, the API and the tokens.
func TestImports_areThoseOfUsers(t *testing.T) {
	t.Parallel()
	linked := func(packages ...string) []string {
		t.Helper()
		list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}"}, packages...)...)
		output, err := list.Output()
		check(t, err)
		return strings.Fields(string(output))
	}
	allowed := append(linked(module+"server", module+"api/tools/harness/faultserver", module+"server/sender", module+"client/webhook", module+"gen"),
		"github.com/golang-jwt/jwt/v5", module+"client/clienttest", module+"server/memory")
	for _, part := range []string{"api/auth", "memstore", "render/simulate", "api/rest", "studio"} {
		allowed = append(allowed, module+"server/internal/"+part)
	}
	for _, path := range linked(".") {
		if !slices.Contains(allowed, path) {
			t.Errorf("%s is linked", path)
		}
	}
	standard, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	check(t, err)
	if strings.Contains(string(standard), "database/sql\n") {
		t.Error("database/sql is linked")
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
