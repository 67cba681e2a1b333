package main

import (
	"math"
	"runtime"
	"runtime/debug"
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

// The limit of an operator is one of memory, of which the ballast takes none.
func TestTuneCollector_countsNoBallast(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "1GiB")
	for given, want := range map[int64]int64{1 << 30: 1<<30 + ballastSize, math.MaxInt64: math.MaxInt64} {
		before := debug.SetMemoryLimit(given)
		tuneCollector(1)
		if got := debug.SetMemoryLimit(before); got != want {
			t.Errorf("with GOMEMLIMIT %d, the limit is %d, want %d", given, got, want)
		}
	}
}
