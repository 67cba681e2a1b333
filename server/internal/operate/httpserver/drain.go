package httpserver

import (
	"context"
	"time"
)

// drainTime is how long clients may continue to use their connections before a shutdown, and how long accepted
// connections may be silent then.
const drainTime = 500 * time.Millisecond

// Drain prepares the shutdown of a server whose socket another process serves afterwards, so that no client loses a
// request. For half a second, every response closes its connection. The remaining ones are idle, and the server may
// close them: that a client uses one of them at this moment is as unlikely as at the end of an idle timeout. Then Drain
// closes the listener, and waits for the first request of each connection that was accepted. Drain ends early with ctx.
func (l *Listener) Drain(ctx context.Context) {
	l.draining.Store(true)
	await(ctx, func() bool { return len(l.connections(func(*conn) bool { return true })) == 0 })
	_ = l.Listener.Close()
	fresh := func() []*conn { return l.connections(func(c *conn) bool { return c.fresh.Load() }) }
	await(ctx, func() bool { return l.ended.Load() && len(fresh()) == 0 })
	for _, silent := range fresh() {
		silent.endIdle() // otherwise the server would wait for it for 5 seconds
	}
}

// await waits until done returns true, ctx ends, or drainTime has passed.
func await(ctx context.Context, done func() bool) {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// connections returns the open connections that match.
func (l *Listener) connections(matches func(*conn) bool) (matching []*conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.networks {
		for c := range n.conns {
			if matches(c) {
				matching = append(matching, c)
			}
		}
	}
	return matching
}

// closeAfter makes net/http close the connection after the response, while the listener drains. The header must not
// have been written.
func (w *response) closeAfter() {
	if w.conn.listener.draining.Load() {
		w.Header().Set("Connection", "close") // with HTTP/2, net/http sends GOAWAY
	}
}

// WriteHeader implements [http.ResponseWriter].
func (w *response) WriteHeader(status int) {
	w.closeAfter()
	w.ResponseWriter.WriteHeader(status)
}
