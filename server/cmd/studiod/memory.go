package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/operate/httpserver"
)

const (
	ballastSize = 24 << 20
	// baseMemory is enough for everything but connections, request bodies and responses. The process takes about 80 MiB
	// more, which the collector does not see: its program and the page caches of SQLite.
	baseMemory          = 48 << 20
	memoryPerConnection = 16 << 10

	// A process that allocates less than idleAllocation in idleInterval is idle.
	idleAllocation = 4 << 20
	idleInterval   = 10 * time.Second
)

// ballast makes garbage collections rarer. A collection starts when the heap has grown by the size of the live
// objects. A daemon has only 5 MiB of them, so there would be 100 collections a second under load. The ballast counts
// as a live object, but takes no memory, because nothing accesses its pages.
//
//nolint:gochecknoglobals // it must stay reachable
var ballast = sync.OnceValue(func() []byte { return make([]byte, ballastSize) })

// tuneCollector makes garbage collections rarer, until the process uses the memory that its limits of connections,
// bodies and responses need. The environment variable GOMEMLIMIT overrides the limit. The collector counts the ballast.
func tuneCollector(maxConnections int) {
	_ = ballast()
	limit := debug.SetMemoryLimit(-1)
	if os.Getenv("GOMEMLIMIT") == "" {
		limit = baseMemory + httpserver.DefaultMaxBodyBytes + httpserver.DefaultMaxResponseBytes + int64(maxConnections)*memoryPerConnection
	}
	debug.SetMemoryLimit(limit + ballastSize) // no limit overflows, and stays none
}

// releaseMemory returns unused memory to the system when the process has become idle, until ctx ends. The collector
// keeps as much as a busy process needs, which the ballast makes about 60 MiB.
func releaseMemory(ctx context.Context) {
	ticker := time.NewTicker(idleInterval)
	defer ticker.Stop()
	last, released := allocated(), uint64(0)
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		now := allocated()
		if now-last < idleAllocation && now-released > idleAllocation {
			debug.FreeOSMemory()
			released = now
		}
		last = now
	}
}

// allocated returns how many bytes the process has allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
