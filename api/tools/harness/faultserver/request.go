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

// Request is a request that the server received.
type Request struct {
	Number     int       // 1 for the first request; 0 in a [Script]
	Connection int       // 1 for the first connection
	At         time.Time // when the headers were complete
	Method     string
	URL        *url.URL // path and query, as sent
	Host       string
	Proto      string
	Header     http.Header
	Body       []byte // the first 1 MiB; nil in a [Script] and for faults that do not read the body
}

// Received returns the received requests in order of arrival, up to [Config.Keep] of them.
func (s *Server) Received() []Request {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return slices.Clone(s.log.kept)
}

// Count returns the number of received requests, whether they were kept or not. A request is counted when its
// body has been read, or immediately if its fault does not read the body.
func (s *Server) Count() int {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.log.count
}

// Wait waits until n requests have arrived since the start. It returns an error if ctx ends before that, and
// [net.ErrClosed] if the server is closed before that.
func (s *Server) Wait(ctx context.Context, n int) error { return s.log.wait(ctx, n) }

// log records the received requests.
type log struct {
	limit  int
	closed chan struct{}

	mu      sync.Mutex
	count   int
	kept    []Request
	arrived chan struct{} // closed at the next arrival; nil if nothing waits
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

// next returns a channel that is closed at the next arrival, or nil if n requests have arrived.
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
