package gobuild_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/gobuild"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

const studio = "github.com/avatarstudio/avatarstudio/client/cmd/studio"

func TestProgram_returnsTheSameExecutable(t *testing.T) {
	t.Parallel()
	first, err := gobuild.Program(t.Context(), studio)
	harness.Check(t, err)
	if output, err := exec.CommandContext(t.Context(), first, "help").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
	if second, err := gobuild.Program(t.Context(), studio); err != nil || second != first {
		t.Errorf("the second path is %s, %v, want %s", second, err, first)
	}
}

func TestProgram_returnsTheErrorOfTheCompiler(t *testing.T) {
	t.Parallel()
	if _, err := gobuild.Program(t.Context(), studio+"/missing"); err == nil || !strings.Contains(err.Error(), "studio/missing") {
		t.Errorf("error is %v", err)
	}
}
