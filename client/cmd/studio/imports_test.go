package main

import (
	"os/exec"
	"strings"
	"testing"
)

// The command uses only the public interface of the service.
func TestImports_arePublic(t *testing.T) {
	t.Parallel()
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	check(t, err)
	for path := range strings.FieldsSeq(string(output)) {
		if strings.HasPrefix(path, "github.com/avatarstudio/avatarstudio/server") || path == "testing" {
			t.Errorf("%s is linked", path)
		}
	}
}
