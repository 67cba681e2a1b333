package studiotest

import (
	"bytes"
	"context"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// Proxy is a TCP proxy for a PostgreSQL server. It can hang as a stopped server does: it accepts connections, and
// neither responds nor closes them. It can also lose answers. It is safe for concurrent use.
type Proxy struct {
	DSN string // of the server through the proxy

	network, address string
	listener         net.Listener
	running          sync.WaitGroup
	closed           chan struct{}

	mu      sync.Mutex
	thawed  chan struct{} // closed by Thaw; nil unless the proxy hangs
	freeze  int           // requests until the proxy hangs; 0 for never
	dead    chan struct{} // closed for the open connections by Drop
	clients map[net.Conn]struct{}
	lose    func(queries []string) bool // see LoseAnswers; nil for none
}

// NewProxy starts a proxy that ends with the test.
func NewProxy(t testing.TB, dsn string) *Proxy {
	t.Helper()
	config := harness.Try(pgx.ParseConfig(dsn))(t)
	listener := harness.Try(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	p := &Proxy{listener: listener, closed: make(chan struct{}), dead: make(chan struct{}), clients: make(map[net.Conn]struct{})}
	p.network, p.address = pgconn.NetworkAddress(config.Host, config.Port)
	through := harness.Try(url.Parse(dsn))(t)
	query := through.Query()
	query.Del("host")
	query.Del(connectTimeout) // it is short, for tests of a server that does not respond
	through.Host, through.RawQuery = listener.Addr().String(), query.Encode()
	p.DSN = through.String()
	p.running.Go(p.serve)
	t.Cleanup(p.close)
	return p
}

// Freeze makes the proxy hang until Thaw is called. What it has received it forwards then.
func (p *Proxy) Freeze() { p.FreezeAfter(0) }

// FreezeAfter is Freeze after n more requests, which may be parts of a larger one.
func (p *Proxy) FreezeAfter(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.freeze = n; n == 0 && p.thawed == nil {
		p.thawed = make(chan struct{})
	}
}

// Frozen reports whether the proxy hangs.
func (p *Proxy) Frozen() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.thawed != nil
}

// Thaw ends Freeze and FreezeAfter.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freeze = 0
	if p.thawed != nil {
		close(p.thawed)
		p.thawed = nil
	}
}

// Drop makes the open connections hang for good, as if the network had lost them. New connections work.
func (p *Proxy) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.dead)
	p.dead = make(chan struct{})
}

// LoseAnswers makes the proxy call lose with the statements of each request. If it returns true, the server executes
// the request, and the proxy closes the connection instead of passing the answer on. The calls are not concurrent.
func (p *Proxy) LoseAnswers(lose func(queries []string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = lose
}

// loses reports whether the answer to a request is lost.
func (p *Proxy) loses(queries []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lose != nil && p.lose(queries)
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	close(p.closed)
	p.mu.Lock()
	for client := range p.clients {
		_ = client.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		dead := p.dead
		p.clients[client] = struct{}{}
		p.mu.Unlock()
		p.running.Go(func() { p.forward(client, dead) })
	}
}

// forward forwards a connection until one side closes it.
func (p *Proxy) forward(client net.Conn, dead chan struct{}) {
	defer func() {
		_ = client.Close()
		p.mu.Lock()
		delete(p.clients, client)
		p.mu.Unlock()
	}()
	if !p.pass(dead, false) {
		return
	}
	server, err := new(net.Dialer).DialContext(context.Background(), p.network, p.address)
	if err != nil {
		return
	}
	var responses sync.WaitGroup
	requests := &requestReader{loses: p.loses, prepared: make(map[string]string)}
	requests.messages = pgproto3.NewBackend(&requests.received, nil)
	responses.Go(func() { p.copy(client, server, dead, requests, false) })
	p.copy(server, client, dead, requests, true)
	_ = server.Close()
	responses.Wait()
}

// copy forwards one direction. The end of the input is forwarded, too, so it waits like data while the proxy hangs.
func (p *Proxy) copy(to, from net.Conn, dead chan struct{}, stream *requestReader, requests bool) {
	defer func() { _ = to.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if !p.pass(dead, requests && n > 0) {
			return
		}
		switch {
		case requests:
			stream.read(buffer[:n])
		case stream.lost.Load():
			if err != nil || bytes.HasPrefix(buffer[max(0, n-6):n], []byte("Z\x00\x00\x00\x05")) { // ReadyForQuery: it has executed all
				return
			}
			continue
		}
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

// pass waits while the proxy hangs. It returns false when the proxy ends.
func (p *Proxy) pass(dead chan struct{}, request bool) bool {
	p.mu.Lock()
	if request && p.freeze > 0 {
		if p.freeze--; p.freeze == 0 && p.thawed == nil {
			p.thawed = make(chan struct{})
		}
	}
	thawed := p.thawed
	p.mu.Unlock()
	if thawed != nil {
		select {
		case <-thawed:
		case <-p.closed:
			return false
		}
	}
	select {
	case <-dead:
		<-p.closed
		return false
	default:
		return true
	}
}

// requestReader reads the messages of a client, in the protocol of PostgreSQL.
type requestReader struct {
	loses func(queries []string) bool
	lost  atomic.Bool // the answer to the last request is lost

	received bytes.Buffer
	messages *pgproto3.Backend // of received
	begun    bool              // the first message, which has no type, was read
	prepared map[string]string
	queries  []string // of the request so far
}

// read reads what the client has sent. The answer to a request that it completes may be lost.
func (r *requestReader) read(data []byte) {
	r.received.Write(data)
	for {
		receive := r.messages.Receive
		if !r.begun {
			receive = r.messages.ReceiveStartupMessage
		}
		message, err := receive()
		if err != nil { // the rest follows
			return
		}
		switch message := message.(type) {
		case *pgproto3.StartupMessage:
			r.begun = true
		case *pgproto3.Parse:
			r.prepared[message.Name] = message.Query
		case *pgproto3.Bind:
			r.queries = append(r.queries, r.prepared[message.PreparedStatement])
		case *pgproto3.Query:
			r.queries = append(r.queries, message.String)
			r.end()
		case *pgproto3.Sync:
			r.end()
		}
	}
}

// end ends a request.
func (r *requestReader) end() {
	if len(r.queries) > 0 {
		r.lost.Store(r.loses(r.queries))
		r.queries = nil
	}
}
