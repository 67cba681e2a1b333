package faultserver

import (
	"net/http"
	"sync/atomic"
)

// Script says what a request gets. It is called when the headers of the request have
// arrived, by several goroutines at once.
type Script func(Request) Fault

// InOrder gives the first request the first fault, the second the second, and so on. The
// last fault serves all that follow; without any it is a 200.
func InOrder(faults ...Fault) Script {
	if len(faults) == 0 {
		faults = []Fault{{}}
	}
	var next atomic.Int64
	return func(Request) Fault {
		return faults[min(next.Add(1), int64(len(faults)))-1]
	}
}

// ByPath gives each path of the map its own script, and 404 to every other path.
func ByPath(scripts map[string]Script) Script {
	return func(r Request) Fault {
		if script, ok := scripts[r.URL.Path]; ok {
			return script(r)
		}
		return Status(http.StatusNotFound)
	}
}
