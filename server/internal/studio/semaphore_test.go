package studio_test

import (
	"context"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// A second caller of a key waits or is refused. A key that is not in use is not remembered.
func TestKeyedSemaphore_boundsTheCallersOfAKey(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for queue, want := range map[int]error{0: context.Canceled, 1: studio.ErrBusy} {
		all := studio.KeyedSemaphore{Limit: 1, Queue: queue}
		release := try(all.Acquire(t.Context(), "a"))(t)
		_, err := all.Acquire(canceled, "a")
		wantError(t, err, want)
		try(all.Acquire(t.Context(), "b"))(t)()
		if release(); all.Keys() != 0 {
			t.Errorf("with a queue of %d, keys are remembered", queue)
		}
	}
}
