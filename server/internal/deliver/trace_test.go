package deliver

import (
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// Without a tracer, tracing allocates nothing.
func TestTraceAttempt_allocatesNothingWithoutATracer(t *testing.T) {
	d := new(Deliverer)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	allocations := testing.AllocsPerRun(100, func() {
		_, attempt := d.traceAttempt(t.Context(), store.Delivery{TraceParent: parent})
		endAttempt(attempt, studio.EventPending, sender.Attempt{Status: 500, Failure: sender.FailureStatus})
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
