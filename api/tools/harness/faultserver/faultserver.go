// Package faultserver is an HTTP/1.1 server with faults, for tests and benchmarks of HTTP clients such as webhook
// senders: it hangs, sends slowly, sends too much, resets connections, violates the protocol, or responds with any
// status. It records the requests that it receives. A [Fault] also is the handler of any other server.
package faultserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// keep is how many requests [Server.Received] returns at most, so that memory does not grow with their number.
const keep = 1000

// Server is a running server. It is safe for concurrent use.
type Server struct {
	address string
	faults  []Fault
	web     *http.Server
	cancel  context.CancelFunc

	mu          sync.Mutex
	connections int
	count       int
	received    []Request
}

// Request is a request that the server received.
type Request struct {
	*http.Request

	Body []byte // nil for faults that do not read the body
}

// New starts a server on loopback, and closes it when the test ends. It responds to the first request with the first
// fault, to the second with the second, and so on. The last fault is repeated. Without faults, it responds with 200.
func New(tb testing.TB, faults ...Fault) *Server {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return NewAt(tb, listener, faults...)
}

// NewAt is like New with a listener, which the server closes.
func NewAt(tb testing.TB, listener net.Listener, faults ...Fault) *Server {
	tb.Helper()
	if len(faults) == 0 {
		faults = []Fault{Status(http.StatusOK)}
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{address: listener.Addr().String(), faults: faults, cancel: cancel}
	s.web = &http.Server{
		Handler: s, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx },
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.connections++
			}
		},
	}
	go func() {
		if err := s.web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			tb.Error(err)
		}
	}()
	tb.Cleanup(s.Close)
	return s
}

// ServeHTTP records a request and responds with its fault.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	fault := s.faults[min(s.count, len(s.faults)-1)]
	s.count++
	s.mu.Unlock()
	received := Request{r, fault.read(r)}
	s.mu.Lock()
	if len(s.received) < keep {
		s.received = append(s.received, received)
	}
	s.mu.Unlock()
	fault.serve(w, r)
}

// read reads the body of a request before its fault, unless the fault comes earlier. The fault reads it again.
func (f Fault) read(r *http.Request) []byte {
	if f.early {
		return nil
	}
	body, _ := io.ReadAll(r.Body) // the sender may have gone
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// Address returns the host and port of the server.
func (s *Server) Address() string { return s.address }

// URL returns the address of the server as a URL without a path.
func (s *Server) URL() string { return "http://" + s.address }

// Connections returns the number of connections accepted so far.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections
}

// Received returns the first requests.
func (s *Server) Received() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.received)
}

// Count returns the number of requests, whether they were kept or not.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// Close closes all connections. The server then refuses connections like a port without a listener.
func (s *Server) Close() {
	s.cancel()
	_ = s.web.Close()
}
