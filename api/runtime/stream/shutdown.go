package stream

import (
	"context"
	"net/http"
	"runtime"
	"sync"
	"weak"
)

// shutdowns contains a context of each server, by weak pointer.
var shutdowns sync.Map //nolint:gochecknoglobals // a server has no room for it

// shutdownOf returns the context that ends when a server shuts down. The server may be nil.
func shutdownOf(server *http.Server) context.Context {
	if server == nil {
		return context.Background()
	}
	key := weak.Make(server)
	if known, ok := shutdowns.Load(key); ok {
		return known.(context.Context) //nolint:forcetypeassert // the map has nothing else
	}
	ctx, cancel := context.WithCancel(context.Background())
	known, loaded := shutdowns.LoadOrStore(key, ctx)
	if loaded {
		cancel()
	} else {
		server.RegisterOnShutdown(cancel)
		runtime.AddCleanup(server, func(key weak.Pointer[http.Server]) { shutdowns.Delete(key) }, key)
	}
	return known.(context.Context) //nolint:forcetypeassert // as above
}
