package faultserver

import (
	"net/http"
	"sync/atomic"
)

// Script returns the fault for a request. It is called when the headers of the request have arrived,
// concurrently for several connections.
type Script func(Request) Fault

// InOrder returns a script with the first fault for the first request, the second fault for the second, and
// so on. The last fault is repeated. Without faults, the script always responds with 200.
func InOrder(faults ...Fault) Script {
	if len(faults) == 0 {
		faults = []Fault{{}}
	}
	var next atomic.Int64
	return func(Request) Fault {
		return faults[min(next.Add(1), int64(len(faults)))-1]
	}
}

// ByPath returns a script that selects a script by the path of the request. Other paths get 404.
func ByPath(scripts map[string]Script) Script {
	return func(r Request) Fault {
		if script, ok := scripts[r.URL.Path]; ok {
			return script(r)
		}
		return Status(http.StatusNotFound)
	}
}
