package main

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestReleaseMemory_collectsOnceWhenTheProcessBecomesIdle(t *testing.T) { //nolint:paralleltest // others allocate
	synctest.Test(t, func(t *testing.T) {
		go releaseMemory(t.Context())
		collections := func(after time.Duration) uint32 {
			time.Sleep(after)
			synctest.Wait()
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			return stats.NumForcedGC
		}
		before := collections(0)
		garbage := make([]byte, 2*idleAllocation)
		if n := collections(idleInterval) - before; n != 0 {
			t.Errorf("%d collections while the process allocates %d bytes", n, len(garbage))
		}
		if n := collections(10*idleInterval) - before; n != 1 {
			t.Errorf("%d collections of an idle process, want 1", n)
		}
	})
}
