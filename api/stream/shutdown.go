package stream

import (
	"context"
	"net/http"
	"runtime"
	"sync"
	"weak"
)

// servers contains a context for each server, by weak pointer. It ends when the server shuts down.
var servers sync.Map //nolint:gochecknoglobals // a server has no room for it

// onShutdown calls f when the server shuts down. The function that it returns undoes this. The server may be nil.
func onShutdown(server *http.Server, f func()) (stop func() bool) {
	if server == nil {
		return nil
	}
	key := weak.Make(server)
	known, ok := servers.Load(key)
	if !ok {
		ctx, cancel := context.WithCancel(context.Background())
		if known, ok = servers.LoadOrStore(key, ctx); !ok {
			server.RegisterOnShutdown(cancel)
			runtime.AddCleanup(server, func(key weak.Pointer[http.Server]) { servers.Delete(key) }, key)
		} else {
			cancel()
		}
	}
	ctx, _ := known.(context.Context)
	return context.AfterFunc(ctx, f)
}
