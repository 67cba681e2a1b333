package clienttest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
)

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		clienttest.New(b)
	}
}

// A service is for one test, so starting it costs little more than loading the document.
func TestAllocations_startingAServiceIsCheap(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts for the process
	const most = 15_000
	if n := testing.AllocsPerRun(5, func() { clienttest.New(t) }); n > most {
		t.Errorf("a start makes %.0f allocations, more than %d", n, most)
	}
}

// The package adds little to a test that calls a server of httptest, as "go test" links it: without symbols.
func TestProgram_growsLittle(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it links two programs")
	size := func(serve, imports string) int64 {
		t.Helper()
		source, program := filepath.Join(t.TempDir(), "program_test.go"), filepath.Join(t.TempDir(), "program")
		check(t, os.WriteFile(source, []byte(strings.NewReplacer("SERVE", serve, "IMPORTS", imports).Replace(`package program_test

import (
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
	IMPORTS
)

func TestList(t *testing.T) {
	studio, err := client.New(client.Config{BaseURL: SERVE.URL, Email: "ada@example.com"})
	if err == nil {
		_, err = studio.ListProjects(t.Context())
	}
	t.Log(err)
}
`)), 0o600))
		output, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program, source).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		info, err := os.Stat(program)
		check(t, err)
		return info.Size()
	}
	const limit = 4_000_000
	growth := size(`clienttest.New(t)`, `"github.com/avatarstudio/avatarstudio/client/clienttest"`) -
		size(`httptest.NewServer(nil)`, `"net/http/httptest"`)
	if t.Logf("a test program grows by %.1f MB", float64(growth)/1e6); growth > limit {
		t.Errorf("a test program grows by %d bytes, more than %d", growth, limit)
	}
}
