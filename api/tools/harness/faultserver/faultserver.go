// Package faultserver is an HTTP/1.1 server with scripted faults, for tests and benchmarks of HTTP clients
// such as webhook senders. A [Script] selects a [Fault] for each request: the server hangs, sends slowly,
// sends too much, resets connections, violates the protocol, or responds with any status. It can also use
// invalid TLS certificates. It records the requests that it receives.
//
// Package faultserver depends on the standard library only. It listens on loopback by default. Start a server
// with [Start], or with [New] in a test.
package faultserver

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

const (
	headerLimit = 1 << 20
	bodyLimit   = 1 << 20
)

// Config configures a [Server]. The zero value responds to all requests with 200.
type Config struct {
	// Script returns the fault for each request. Defaults to 200 without a body.
	Script Script

	// TLS is the TLS mode of the server. Defaults to [Plain].
	TLS TLS

	// Hosts are names for which the certificate is valid, in addition to localhost, 127.0.0.1 and ::1.
	Hosts []string

	// Keep is the number of requests that [Server.Received] returns, the first ones to arrive. Defaults to
	// 1000. If negative, no requests are kept, so that memory does not grow with the number of requests.
	Keep int

	// OnRequest is called with each request before its fault. It is called concurrently, by the goroutine of
	// each connection. It must not modify the request.
	OnRequest func(Request)

	// Listener accepts the connections. The server closes it. Defaults to a free port of 127.0.0.1.
	Listener net.Listener
}

// Server is a running server. It is safe for concurrent use.
type Server struct {
	config  Config
	address net.Addr
	tls     *tls.Config
	roots   *x509.CertPool
	log     log
	work    sync.WaitGroup

	mu          sync.Mutex
	listener    net.Listener // nil while connections are refused
	closed      bool
	connections int
	open        map[net.Conn]context.CancelFunc
}

// Start starts a server. The caller must close it.
func Start(cfg Config) (*Server, error) {
	if cfg.Script == nil {
		cfg.Script = InOrder()
	}
	if cfg.Keep == 0 {
		cfg.Keep = 1000
	}
	s := &Server{config: cfg, log: newLog(cfg.Keep), open: make(map[net.Conn]context.CancelFunc)}
	var err error
	if s.tls, s.roots, err = cfg.TLS.configure(cfg.Hosts); err != nil {
		return nil, err
	}
	listener := cfg.Listener
	if listener == nil {
		if listener, err = listen("127.0.0.1:0"); err != nil {
			return nil, err
		}
	}
	s.address = listener.Addr()
	s.accept(listener)
	return s, nil
}

// New starts a server and closes it when the test ends. It fails the test if the server cannot be started.
func New(tb testing.TB, cfg Config) *Server {
	tb.Helper()
	s, err := Start(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// Address returns the host and port of the server.
func (s *Server) Address() string { return s.address.String() }

// URL returns the address of the server as a URL without a path.
func (s *Server) URL() string {
	if s.config.TLS == Plain {
		return "http://" + s.Address()
	}
	return "https://" + s.Address()
}

// RootCAs returns the certificate authority of this server, which clients must trust. It returns nil without
// TLS.
func (s *Server) RootCAs() *x509.CertPool { return s.roots }

// Connections returns the number of connections accepted so far.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections
}

// Refuse makes the server refuse connections, like a port without a listener, and closes open connections.
// Call [Server.Resume] to undo it.
func (s *Server) Refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

// Resume accepts connections again after [Server.Refuse], at the same address. It returns an error if another
// program uses the port, after Close, and with a [Pipe].
func (s *Server) Resume() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return net.ErrClosed
	case s.listener != nil:
		return nil
	}
	if _, ok := s.config.Listener.(*Pipe); ok {
		return errors.ErrUnsupported
	}
	listener, err := listen(s.Address())
	if err == nil {
		s.accept(listener)
	}
	return err
}

// Close closes all connections and waits until all goroutines of the server have ended.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.stop()
	s.mu.Unlock()
	s.log.close()
	s.work.Wait()
}

func (s *Server) stop() {
	if s.listener != nil {
		_ = s.listener.Close()
		s.listener = nil
	}
	for conn, cancel := range s.open {
		cancel()
		_ = conn.Close()
	}
}

func listen(address string) (net.Listener, error) {
	return new(net.ListenConfig).Listen(context.Background(), "tcp", address)
}

// accept requires s.mu, except in Start.
func (s *Server) accept(listener net.Listener) {
	s.listener = listener
	s.work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.add(listener, conn)
		}
	})
}

func (s *Server) add(from net.Listener, conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != from { // closed in the meantime
		_ = conn.Close()
		return
	}
	s.connections++
	number := s.connections
	ctx, cancel := context.WithCancel(context.Background())
	s.open[conn] = cancel
	s.work.Go(func() {
		s.serve(ctx, conn, number)
		cancel()
		_ = conn.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, conn)
	})
}

// serve handles the requests of a connection until a fault ends the connection.
func (s *Server) serve(ctx context.Context, conn net.Conn, number int) {
	conn, err := s.config.TLS.handshake(ctx, conn, s.tls)
	if err != nil {
		return
	}
	if secure, ok := conn.(*tls.Conn); ok {
		defer func() { _ = secure.Close() }() // sends close_notify
	}
	limited := &io.LimitedReader{R: conn}
	reader := bufio.NewReader(limited)
	for keep := true; keep; {
		limited.N = headerLimit
		request, err := http.ReadRequest(reader)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				_, _ = io.WriteString(conn, badRequest)
			}
			return
		}
		limited.N = math.MaxInt64
		keep = s.respond(ctx, conn, number, request)
	}
}

func (s *Server) respond(ctx context.Context, conn net.Conn, number int, request *http.Request) (keep bool) {
	received := Request{
		Connection: number, At: time.Now(), Method: request.Method, URL: request.URL,
		Host: request.Host, Proto: request.Proto, Header: request.Header,
	}
	fault := s.config.Script(received)
	if !fault.early {
		var err error
		if received.Body, err = io.ReadAll(io.LimitReader(request.Body, bodyLimit)); err != nil {
			return false
		}
		if _, err = io.Copy(io.Discard, request.Body); err != nil {
			return false
		}
	}
	received = s.log.add(received)
	if s.config.OnRequest != nil {
		s.config.OnRequest(received)
	}
	return fault.run(ctx, conn, received) && !request.Close
}
