package main

import (
	"cmp"
	"os"
	"runtime/debug"

	"github.com/avatarstudio/avatarstudio/server/internal/listener"
)

const (
	// gcPercent is the growth of the heap that starts a garbage collection. A daemon has so few live objects that
	// with the usual 100 % there would be 100 collections a second under load.
	gcPercent = 200
	// baseMemory is enough for everything but connections and request bodies.
	baseMemory          = 96 << 20
	memoryPerConnection = 16 << 10
)

// tuneCollector makes garbage collections rarer, until the process uses the memory that its limits of connections
// and bodies need. The environment variables GOGC and GOMEMLIMIT take precedence.
func tuneCollector(cfg listener.Config) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		connections := cmp.Or(cfg.MaxConnections, listener.DefaultMaxConnections)
		debug.SetMemoryLimit(baseMemory + cmp.Or(cfg.MaxBodyBytes, listener.DefaultMaxBodyBytes) + int64(connections)*memoryPerConnection)
	}
}
