package stream

import (
	"net/http"
	"runtime"
	"sync"
	"weak"
)

// servers contains the *openStreams of each server, by weak pointer.
var servers sync.Map //nolint:gochecknoglobals // a server has no room for them

// openStreams are the open streams of a server.
type openStreams struct {
	mu   sync.Mutex
	all  map[*response]bool
	down bool // the server shuts down
}

// streamsOf returns the open streams of a server, which end when it shuts down.
func streamsOf(server *http.Server) *openStreams {
	key := weak.Make(server)
	if known, ok := servers.Load(key); ok {
		return known.(*openStreams) //nolint:forcetypeassert // the map has nothing else
	}
	known, loaded := servers.LoadOrStore(key, &openStreams{all: map[*response]bool{}})
	streams := known.(*openStreams) //nolint:forcetypeassert // as above
	if !loaded {
		server.RegisterOnShutdown(streams.shutDown)
		runtime.AddCleanup(server, func(key weak.Pointer[http.Server]) { servers.Delete(key) }, key)
	}
	return streams
}

func (o *openStreams) add(w *response) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all[w] = true; o.down {
		w.cancel(ErrShutdown)
	}
}

func (o *openStreams) remove(w *response) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, w)
}

func (o *openStreams) shutDown() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down = true
	for w := range o.all {
		w.cancel(ErrShutdown)
	}
}
