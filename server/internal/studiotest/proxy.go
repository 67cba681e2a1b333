package studiotest

import (
	"context"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/avatarstudio/avatarstudio/api/harness"
)

// Proxy is a TCP proxy for a PostgreSQL server. It can hang as a stopped server does: it accepts connections, and
// neither responds nor closes them. It is safe for concurrent use.
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
}

// NewProxy starts a proxy that ends with the test.
func NewProxy(t testing.TB, dsn string) *Proxy {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	harness.Check(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	harness.Check(t, err)
	p := &Proxy{listener: listener, closed: make(chan struct{}), dead: make(chan struct{}), clients: make(map[net.Conn]struct{})}
	p.network, p.address = pgconn.NetworkAddress(config.Host, config.Port)
	through, err := url.Parse(dsn)
	harness.Check(t, err)
	query := through.Query()
	query.Del("host")
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
	responses.Go(func() { p.copy(client, server, dead, false) })
	p.copy(server, client, dead, true)
	_ = server.Close()
	responses.Wait()
}

// copy forwards one direction. The end of the input is forwarded, too, so it waits like data while the proxy hangs.
func (p *Proxy) copy(to, from net.Conn, dead chan struct{}, requests bool) {
	defer func() { _ = to.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if !p.pass(dead, requests && n > 0) {
			return
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
