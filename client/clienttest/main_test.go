package clienttest_test

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var check = harness.Check

func try[T any](result T, err error) func(t testing.TB) T { return harness.Try(result, err) }

// A service is for one test, so starting it costs little more than loading the document.
func TestAllocations_startingAServiceIsCheap(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts for the process
	const most = 15_000
	if n := testing.AllocsPerRun(5, func() { clienttest.New(t) }); n > most {
		t.Errorf("a start makes %.0f allocations, more than %d", n, most)
	}
}

// The example in the package comment is a tested example.
func TestDocumentation_containsTestedExample(t *testing.T) {
	t.Parallel()
	source := try(os.ReadFile("service.go"))(t)
	tests := try(os.ReadFile("example_test.go"))(t)
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
