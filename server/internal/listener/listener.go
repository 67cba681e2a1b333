// Package listener keeps the callers of an HTTP server from using it up. It limits connections, in
// all and for each address, the memory that bodies take, and how slowly a body may come.
//
// A new connection is never refused because others sit idle: when there are as many as there may
// be, the least recently active ones are closed, and first those of the addresses that have more
// than their share. A connection is active when it completes a request, gets its answer, or sends a
// body at the least rate. One whose request is being answered is not closed.
//
// A request of HTTP/2 counts as a connection, unless it is the only one of its connection.
//
// What net/http answers by itself, before any handler, becomes a problem document (RFC 9457), but on
// HTTP/2.
package listener

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Config says what callers may use. Its zero value works.
type Config struct {
	// MaxConnections is how many connections may be open. It is lowered to half of the files that the
	// process may open. Default 2048.
	MaxConnections int
	// MaxConnectionsPerAddress is how many of them may be of one IPv4 address, or one IPv6 network of
	// 64 bits. Default 1024.
	MaxConnectionsPerAddress int
	// Trusted reports whether an address is that of a proxy, which brings the requests of many: no limit
	// for each address is its own. Default: none is.
	Trusted func(netip.Addr) bool
	// MaxBodyBytes is how many bytes of bodies may be in memory, beyond the first 4 KiB of each; half
	// of them for one address. A body for which there is no room is answered 503. Default 24 MiB.
	MaxBodyBytes int64
	// MinBodyRate is how many bytes a second a body must come at, after 10 seconds. Default 8 KiB.
	MinBodyRate int64
	// Streamed reports whether the body of a request is not held in memory. Default: none is.
	Streamed func(*http.Request) bool
	// TLS makes connections speak TLS, and HTTP/2 where its NextProtos have h2. Default: a connection that
	// begins with a TLS hello is closed.
	TLS *tls.Config
	// Logger hears, at most once a minute, that connections were closed or refused, and of each request
	// that net/http refuses. Default: none.
	Logger *slog.Logger
}

const (
	freeBodyBytes = 4 << 10 // of each body
	bodyGrace     = 10 * time.Second
	// stalled is how long an answer may make no progress before its connection counts as idle.
	stalled     = time.Minute
	logInterval = time.Minute
	// evictions is the part of the connections that is closed at once when there are too many, so that
	// they are not looked through for every new one.
	evictions = 64
	// maxStreams is how many requests a connection of HTTP/2 may have at once, and maxUnread how many bytes
	// of their bodies may have come that no handler has read.
	maxStreams = 100
	maxUnread  = 256 << 10
)

// Listener is a net.Listener whose connections are limited. Its [Listener.Install] must be called on
// the server that serves it.
type Listener struct {
	net.Listener

	cfg        Config
	bodyBytes  atomic.Int64
	handshakes *handshakes // nil without TLS

	mu       sync.Mutex
	networks map[netip.Prefix]*network
	open     int // connections, and further requests of HTTP/2
	closed   int // under pressure, since the last line in the log
	logged   time.Time
}

// network is the connections of one address.
type network struct {
	trusted   bool
	conns     map[*conn]struct{}
	open      int // as of a Listener
	bodyBytes atomic.Int64
}

// New limits the connections that inner accepts.
func New(inner net.Listener, cfg Config) *Listener {
	cfg.MaxConnections = cmp.Or(cfg.MaxConnections, 2048)
	if files := maxOpenFiles(); files > 0 {
		cfg.MaxConnections = min(cfg.MaxConnections, max(1, files/2))
	}
	cfg.MaxConnectionsPerAddress = cmp.Or(cfg.MaxConnectionsPerAddress, 1024)
	cfg.MaxBodyBytes = cmp.Or(cfg.MaxBodyBytes, 24<<20)
	cfg.MinBodyRate = cmp.Or(cfg.MinBodyRate, 8<<10)
	if cfg.Trusted == nil {
		cfg.Trusted = func(netip.Addr) bool { return false }
	}
	if cfg.Streamed == nil {
		cfg.Streamed = func(*http.Request) bool { return false }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Listener{Listener: inner, cfg: cfg, networks: make(map[netip.Prefix]*network)}
	if cfg.TLS != nil {
		l.handshakes = newHandshakes(l)
	}
	return l
}

// Install sets the handler and the hooks of a server that is going to serve l.
func (l *Listener) Install(server *http.Server) {
	server.Handler = l.handler(server.Handler)
	server.HTTP2 = &http.HTTP2Config{
		MaxConcurrentStreams: maxStreams, MaxReadFrameSize: 16 << 10, // the least
		MaxReceiveBufferPerConnection: maxUnread, MaxReceiveBufferPerStream: maxUnread, WriteByteTimeout: stalled,
	}
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, connOf(c))
	}
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if c := connOf(c); c != nil && state == http.StateIdle {
			c.handling.Store(false)
			c.touch()
		}
	}
}

// Accept returns the next connection for which there is room.
func (l *Listener) Accept() (net.Conn, error) {
	if l.handshakes != nil {
		return l.handshakes.accept()
	}
	return l.accept()
}

func (l *Listener) accept() (*conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := newConn(l, inner)
		if l.admit(c) {
			return c, nil
		}
		c.refuse()
	}
}

// Close ends Accept, and the handshakes of TLS that go on.
func (l *Listener) Close() error {
	if l.handshakes != nil {
		l.handshakes.close()
	}
	return l.Listener.Close()
}

// admit makes room for a connection, and reports whether there is any.
func (l *Listener) admit(c *conn) bool {
	l.mu.Lock()
	n := l.networks[c.address]
	if n == nil {
		n = &network{trusted: c.trusted, conns: make(map[*conn]struct{})}
		l.networks[c.address] = n
	}
	victims, ok := l.makeRoom(n, nil)
	if ok {
		c.network = n
		n.conns[c] = struct{}{}
		l.networks[c.address] = n // evict may have taken it away with its last connection
		l.count(c, 1)
	} else {
		l.forget(c.address, n)
	}
	l.unlock(victims)
	return ok
}

// beginStream makes room for a request of HTTP/2 and reports whether there is any. The request ends with
// endStream then. The first of a connection has the room of the connection.
func (l *Listener) beginStream(c *conn) (ok bool) {
	l.mu.Lock()
	if _, counts := c.network.conns[c]; !counts { // it was closed
		l.mu.Unlock()
		return false
	}
	var victims []*conn
	if ok = c.streams == 0; !ok {
		if victims, ok = l.makeRoom(c.network, c); ok {
			l.count(c, 1)
		}
	}
	if ok {
		c.streams++
	}
	l.unlock(victims)
	return ok
}

func (l *Listener) endStream(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.streams--
	if _, counts := c.network.conns[c]; counts && c.streams > 0 {
		l.count(c, -1)
	}
}

// count adds to what a connection counts. l.mu is held.
func (l *Listener) count(c *conn, n int) {
	c.counts += n
	c.network.open += n
	l.open += n
}

// makeRoom takes out the connections to be closed for one more of a network, and reports whether there
// is room then. l.mu is held.
func (l *Listener) makeRoom(n *network, except *conn) (victims []*conn, ok bool) {
	if l.full(n) {
		victims = l.evict(n, except)
	}
	if l.open >= l.cfg.MaxConnections {
		victims = append(victims, l.evict(nil, except)...)
	}
	ok = !l.full(n) && l.open < l.cfg.MaxConnections
	l.closed += len(victims)
	if !ok {
		l.closed++
	}
	return victims, ok
}

func (l *Listener) full(n *network) bool {
	return !n.trusted && n.open >= l.cfg.MaxConnectionsPerAddress
}

// unlock closes what makeRoom has taken out, and says so from time to time. l.mu is held.
func (l *Listener) unlock(victims []*conn) {
	closed, open := l.closed, l.open
	now := time.Now()
	speak := closed > 0 && now.Sub(l.logged) >= logInterval
	if speak {
		l.closed, l.logged = 0, now
	}
	l.mu.Unlock()
	for _, victim := range victims {
		_ = victim.Conn.Close() // whoever reads from it finds out
	}
	if speak {
		l.cfg.Logger.Warn("connections closed to make room", "closed", closed, "open", open)
	}
}

// evict takes the least recently active connections out, of one network or of all, but one, and returns
// them to be closed. l.mu is held.
func (l *Listener) evict(of *network, except *conn) []*conn {
	type candidate struct {
		conn   *conn
		active int64
		greedy bool
	}
	var candidates []candidate
	share := l.cfg.MaxConnections / max(1, len(l.networks))
	stalledSince := time.Now().Add(-stalled).UnixNano()
	collect := func(n *network) {
		for c := range n.conns {
			active := c.active.Load()
			if c != except && (c.serving.Load() == 0 || active < stalledSince) {
				candidates = append(candidates, candidate{c, active, !n.trusted && n.open > share})
			}
		}
	}
	most := l.cfg.MaxConnections
	if of != nil {
		most = l.cfg.MaxConnectionsPerAddress
		collect(of)
	} else {
		for _, n := range l.networks {
			collect(n)
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		if a.greedy != b.greedy {
			if a.greedy {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.active, b.active)
	})
	var victims []*conn
	for _, c := range candidates[:min(len(candidates), max(1, most/evictions))] {
		l.remove(c.conn)
		victims = append(victims, c.conn)
	}
	return victims
}

// remove takes a connection out, once. l.mu is held.
func (l *Listener) remove(c *conn) {
	if c.network == nil {
		return
	}
	if _, counts := c.network.conns[c]; counts {
		delete(c.network.conns, c)
		l.forget(c.address, c.network)
		l.count(c, -c.counts)
	}
}

func (l *Listener) forget(address netip.Prefix, n *network) {
	if len(n.conns) == 0 && l.networks[address] == n {
		delete(l.networks, address)
	}
}
