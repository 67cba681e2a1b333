package clienttest_test

import (
	"testing"

	"github.com/avatarstudio/avatarstudio/client/clienttest"
)

// A service is for one test, so starting it costs little more than loading the document.
func TestAllocations_startingAServiceIsCheap(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts for the process
	const most = 15_000
	if n := testing.AllocsPerRun(5, func() { clienttest.New(t) }); n > most {
		t.Errorf("a start makes %.0f allocations, more than %d", n, most)
	}
}
