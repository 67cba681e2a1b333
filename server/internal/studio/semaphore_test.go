package studio_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Two callers of a key get the semaphore, the third waits, and the fourth is refused. No key is remembered after that.
func TestKeyedSemaphore_boundsTheCallersOfAKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := studio.KeyedSemaphore{Limit: 2, Queue: 3}
		first, second := try(all.Acquire(t.Context(), "a"))(t), try(all.Acquire(t.Context(), "a"))(t)
		ctx, cancel := context.WithCancel(t.Context())
		third := make(chan error)
		go func() {
			_, err := all.Acquire(ctx, "a")
			third <- err
		}()
		synctest.Wait()
		_, err := all.Acquire(t.Context(), "a")
		wantError(t, err, studio.ErrBusy)
		cancel()
		wantError(t, <-third, context.Canceled)
		try(all.Acquire(t.Context(), "b"))(t)()
		first()
		second()
		if n := all.Keys(); n != 0 {
			t.Errorf("%d keys are remembered", n)
		}
	})
}
