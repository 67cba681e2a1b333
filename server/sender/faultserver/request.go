package faultserver

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Request is a request that arrived.
type Request struct {
	Number     int       // 1 for the first to arrive; 0 in a [Script]
	Connection int       // 1 for the first to be accepted
	At         time.Time // when its headers were complete
	Method     string
	URL        *url.URL // path and query, as sent
	Host       string
	Proto      string
	Header     http.Header
	Body       []byte // the first 1 MiB; nil in a [Script] and for a fault that does not read it
}

// Received returns the requests that arrived, in order of arrival: at most
// [Config.Keep] of them, the first ones.
func (s *Server) Received() []Request {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return slices.Clone(s.log.kept)
}

// Count returns how many requests arrived, kept or not. A request counts once its body
// was read, or at once when its fault does not read it.
func (s *Server) Count() int {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.log.count
}

// Wait returns when n requests have arrived since the start. It fails when ctx ends
// before, and with [net.ErrClosed] when the server is closed before.
func (s *Server) Wait(ctx context.Context, n int) error { return s.log.wait(ctx, n) }

// log holds what arrived.
type log struct {
	limit  int
	closed chan struct{}

	mu      sync.Mutex
	count   int
	kept    []Request
	arrived chan struct{} // closed at the next arrival; nil when nobody waits
}

func newLog(limit int) log { return log{limit: limit, closed: make(chan struct{})} }

func (l *log) add(r Request) Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	r.Number = l.count
	if len(l.kept) < l.limit {
		l.kept = append(l.kept, r)
	}
	if l.arrived != nil {
		close(l.arrived)
		l.arrived = nil
	}
	return r
}

func (l *log) wait(ctx context.Context, n int) error {
	for {
		next := l.next(n)
		if next == nil {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.closed:
			return net.ErrClosed
		}
	}
}

// next returns a channel that is closed at the next arrival, nil when n are there.
func (l *log) next(n int) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count >= n {
		return nil
	}
	if l.arrived == nil {
		l.arrived = make(chan struct{})
	}
	return l.arrived
}

func (l *log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
}
