package client_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A program that imports the client links the generated code and its dependencies, and nothing else.
func TestImports_areGeneratedCodeOnly(t *testing.T) {
	t.Parallel()
	allowed := []string{
		"github.com/avatarstudio/avatarstudio/client",
		"github.com/avatarstudio/avatarstudio/api/runtime/standardwebhooks",
		"github.com/avatarstudio/avatarstudio/api/runtime/encode",
		"github.com/avatarstudio/avatarstudio/api/runtime/stream",
		"github.com/avatarstudio/avatarstudio/api/runtime/style",
		"github.com/avatarstudio/avatarstudio/gen",
		"github.com/oapi-codegen/runtime",
		"github.com/google/uuid",
		"github.com/apapsch/go-jsonmerge/v2",
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".", "./webhook")
	output, err := list.Output()
	check(t, err)
	for path := range strings.FieldsSeq(string(output)) {
		if !slices.ContainsFunc(allowed, func(a string) bool { return path == a || strings.HasPrefix(path, a+"/") }) {
			t.Errorf("%s is linked", path)
		}
	}
}
