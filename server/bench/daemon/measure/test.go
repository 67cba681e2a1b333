package measure

import (
	"os"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/harness"
)

// TestDatabases returns the kinds of databases for a test. If CI is true, PostgreSQL must be installed.
func TestDatabases(t *testing.T) []*Databases {
	t.Helper()
	kinds, stop, err := OpenDatabases(t.TempDir())
	harness.Check(t, err)
	t.Cleanup(func() { harness.Check(t, stop()) })
	if len(kinds) == 1 {
		if os.Getenv("CI") == "true" {
			t.Error("PostgreSQL is not installed")
		}
		t.Log("PostgreSQL is not installed, so it is not measured")
	}
	return kinds
}

// WantFigures logs figures and checks that none is empty. Missed targets do not fail the test.
func WantFigures[F figure](t *testing.T, figures []F) {
	t.Helper()
	if len(figures) == 0 {
		t.Error("there are no figures")
	}
	for _, each := range figures {
		f := Figure(each)
		t.Logf("%s: %s", f.Name, f.Measured)
		if f.Name == "" || f.Measured == "" {
			t.Errorf("the figure %+v is empty", f)
		}
	}
}
