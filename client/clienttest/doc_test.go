package clienttest_test

import (
	"os"
	"strings"
	"testing"
)

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
