// Package httpserver protects an HTTP server from exhaustion by its clients. It limits the number of
// connections, in total and per address, the memory for request bodies and for responses, and the minimum rate
// at which a body must arrive.
//
// Idle connections do not prevent new ones. At the limit, the least recently active connections are closed,
// starting with addresses that have more than their share. A connection is active when it completes a
// request, gets a part of its response, or sends a body at the minimum rate. A connection is not closed while
// handlers work on all of its requests, unless that takes more than a minute. A handler that waits for the client
// does not work.
//
// Responses are buffered, so that a handler ends although its client reads slowly. If the buffers need too much
// memory, the responses are aborted that have made no progress for the longest time, also starting with addresses
// that have more than their share.
//
// Of an HTTP/2 connection, each concurrent request after the first counts as another connection. It is closed if its
// client sends many more frames than its requests need.
//
// Error responses that net/http sends before it calls a handler are replaced with problem documents (RFC
// 9457), except for HTTP/2.
package httpserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The defaults of [Config].
const (
	DefaultMaxConnections   = 2048
	DefaultMaxBodyBytes     = 24 << 20
	DefaultMaxResponseBytes = 32 << 20
)

// Config configures a [Listener]. The zero value is valid.
type Config struct {
	// MaxConnections limits the open connections. It is reduced to half of the files that the process may
	// open. Defaults to DefaultMaxConnections.
	MaxConnections int
	// MaxConnectionsPerAddress limits the open connections of one IPv4 address or one IPv6 network of 64
	// bits. Defaults to half of MaxConnections.
	MaxConnectionsPerAddress int
	// Trusted reports whether an address is a proxy, which forwards requests of many clients. The limits per
	// address do not apply to trusted addresses. By default, no address is trusted.
	Trusted func(netip.Addr) bool
	// MaxBodyBytes limits the bytes of request bodies in memory, excluding the first 4 KiB of each. One
	// address can use half of it, unless it is trusted. A body that exceeds the limit results in 503. Defaults
	// to DefaultMaxBodyBytes.
	MaxBodyBytes int64
	// MaxResponseBytes limits the bytes of responses that wait in memory for their clients to read them, excluding the
	// first 16 KiB of each. From half of it on, responses without progress are aborted. Defaults to
	// DefaultMaxResponseBytes.
	MaxResponseBytes int64
	// Streamed reports whether the body of a request is streamed instead of being held in memory. By default,
	// no body is.
	Streamed func(*http.Request) bool
	// TLS enables TLS, and HTTP/2 if its NextProtos contains h2.
	TLS *tls.Config
	// Logger receives a record when connections were closed or refused, at most once a minute, and one for
	// each request that net/http rejects. If nil, nothing is logged.
	Logger *slog.Logger
}

const (
	freeBodyBytes = 4 << 10 // not counted for each body
	minBodyRate   = 8 << 10 // bytes per second at which a body must arrive after bodyGrace
	bodyGrace     = 10 * time.Second
	// stalled is how long a handler may work, or an HTTP/2 connection accept no data, before the connection counts
	// as idle.
	stalled     = time.Minute
	logInterval = time.Minute
	// evictions is the fraction of connections that is closed at once at the limit: one in this many. Closing
	// several saves a search for each new connection.
	evictions = 64
	// maxStreams limits the concurrent requests of an HTTP/2 connection. maxUnread limits the bytes of their
	// bodies that have been received but not read by a handler.
	maxStreams = 100
	maxUnread  = 256 << 10
)

// Listener is a net.Listener that limits its connections. [Listener.Install] must be called on the
// http.Server that serves it.
type Listener struct {
	net.Listener

	cfg       Config
	began     time.Time // times are relative to it, so that setting the clock changes none
	bodyBytes atomic.Int64
	unread    unread
	idle      time.Duration // set by Install; 0 is no limit
	draining  atomic.Bool
	ended     atomic.Bool // whether Accept returns no more connections

	mu       sync.Mutex
	networks map[netip.Prefix]*network
	open     int // connections, plus concurrent HTTP/2 requests
	closed   int // closed or refused connections and aborted responses since the last log record
	logged   time.Time
}

// network has the connections of one address.
type network struct {
	trusted   bool
	conns     map[*conn]struct{}
	open      int // as in Listener
	bodyBytes atomic.Int64
}

// New returns a Listener that limits the connections accepted by inner.
func New(inner net.Listener, cfg Config) *Listener {
	cfg.MaxConnections = cmp.Or(cfg.MaxConnections, DefaultMaxConnections)
	if files := maxOpenFiles(); files > 0 {
		cfg.MaxConnections = min(cfg.MaxConnections, max(1, files/2))
	}
	cfg.MaxConnectionsPerAddress = cmp.Or(cfg.MaxConnectionsPerAddress, max(1, cfg.MaxConnections/2))
	cfg.MaxBodyBytes = cmp.Or(cfg.MaxBodyBytes, DefaultMaxBodyBytes)
	cfg.MaxResponseBytes = cmp.Or(cfg.MaxResponseBytes, DefaultMaxResponseBytes)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	l := &Listener{Listener: inner, cfg: cfg, began: time.Now(), networks: make(map[netip.Prefix]*network)}
	l.unread.waiting = make(map[*response]struct{})
	l.unread.timer = time.AfterFunc(time.Hour, l.relieve)
	l.unread.timer.Stop()
	return l
}

// Install wraps the handler of server, sets its hooks and takes over its IdleTimeout. It must be called before
// server serves l.
func (l *Listener) Install(server *http.Server) {
	server.Handler = l.handler(server.Handler)
	server.HTTP2 = &http.HTTP2Config{
		MaxConcurrentStreams: maxStreams, MaxReadFrameSize: 16 << 10, // the minimum
		MaxReceiveBufferPerConnection: maxUnread, MaxReceiveBufferPerStream: maxUnread, WriteByteTimeout: stalled,
	}
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, connOf(c))
	}
	// net/http restarts its idle timer when an HTTP/2 connection is closed during a request, and the timer
	// keeps all memory of the connection for IdleTimeout. So the timer is disabled, and conn.idle replaces it.
	l.idle, server.IdleTimeout = cmp.Or(server.IdleTimeout, server.ReadTimeout), -1
	if l.cfg.TLS != nil {
		server.Protocols = new(http.Protocols)
		server.Protocols.SetHTTP1(true)
		server.Protocols.SetUnencryptedHTTP2(true) // for secureConn
	}
	server.ConnState = func(c net.Conn, state http.ConnState) {
		admitted := connOf(c)
		switch {
		case admitted == nil:
		case state == http.StateActive:
			admitted.fresh.Store(false)
			admitted.idle.Stop()
		case state == http.StateIdle:
			admitted.head = head{}
			admitted.handling.Store(false)
			admitted.touch()
			admitted.startIdle()
		}
	}
}

// Accept returns the next connection that can be admitted.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			l.ended.Store(errors.Is(err, net.ErrClosed))
			return nil, err
		}
		c := newConn(l, inner)
		switch {
		case !l.admit(c):
			c.refuse()
		case l.cfg.TLS != nil:
			return &secureConn{Conn: tls.Server(c, l.cfg.TLS), conn: c, left: frameBurst, since: time.Now()}, nil
		default:
			return c, nil
		}
	}
}

// Close unblocks Accept. The server that serves the listener may have closed it before.
func (l *Listener) Close() error {
	if err := l.Listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// admit admits a connection, if necessary after evicting others. It returns false if there is no room.
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
		l.networks[c.address] = n // evict may have removed the network with its last connection
		l.count(c, 1)
	} else {
		l.forget(c.address, n)
	}
	l.unlock(victims)
	return ok
}

// beginStream admits an HTTP/2 request, if necessary after evicting connections. It returns false if there is
// no room. An admitted request must call endStream. The first request of a connection is counted with the
// connection.
func (l *Listener) beginStream(c *conn) (ok bool) {
	l.mu.Lock()
	if _, open := c.network.conns[c]; !open { // the connection has been closed
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
	if _, open := c.network.conns[c]; open && c.streams > 0 {
		l.count(c, -1)
	}
}

// count adds n to the weight of a connection. l.mu must be held.
func (l *Listener) count(c *conn, n int) {
	c.weight += n
	c.network.open += n
	l.open += n
}

// makeRoom evicts connections for one more of a network, and reports whether there is room now. The caller
// must close the evicted connections. l.mu must be held.
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

// unlock unlocks l.mu, closes the evicted connections and logs their number once a minute.
func (l *Listener) unlock(victims []*conn) {
	closed, open := l.closed, l.open
	now := time.Now()
	report := closed > 0 && now.Sub(l.logged) >= logInterval
	if report {
		l.closed, l.logged = 0, now
	}
	l.mu.Unlock()
	for _, victim := range victims {
		_ = victim.Conn.Close() // pending reads fail
	}
	if report {
		l.cfg.Logger.Warn("connections and responses ended to make room or because of floods", "ended", closed, "open", open)
	}
}

// evict removes the least recently active connections of one network, or of all if network is nil. It never
// removes except. It returns the connections to be closed. l.mu must be held.
func (l *Listener) evict(of *network, except *conn) []*conn {
	var candidates []candidate[*conn]
	share := l.cfg.MaxConnections / max(1, len(l.networks))
	stalledSince := int64(time.Since(l.began) - stalled)
	collect := func(n *network) {
		for c := range n.conns {
			active := c.active.Load()
			works := int(c.serving.Load()) >= max(1, c.streams)
			if c != except && (!works || active < stalledSince) {
				candidates = append(candidates, candidate[*conn]{c, active, !n.trusted && n.open > share})
			}
		}
	}
	limit := l.cfg.MaxConnections
	if of != nil {
		limit = l.cfg.MaxConnectionsPerAddress
		collect(of)
	} else {
		for _, n := range l.networks {
			collect(n)
		}
	}
	sortCandidates(candidates)
	var victims []*conn
	for freed := 0; len(victims) < len(candidates) && freed < max(1, limit/evictions); {
		c := candidates[len(victims)].of
		freed += c.weight
		l.remove(c)
		victims = append(victims, c)
	}
	return victims
}

// candidate is a connection or a response that may be ended to make room.
type candidate[T any] struct {
	of     T
	active int64 // time of its last activity
	greedy bool  // whether its address has more than its share
}

// sortCandidates sorts candidates by when they are ended.
func sortCandidates[T any](all []candidate[T]) {
	slices.SortFunc(all, func(a, b candidate[T]) int {
		if a.greedy != b.greedy {
			if a.greedy {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.active, b.active)
	})
}

// remove removes a connection. It does nothing if the connection has been removed before. l.mu must be held.
func (l *Listener) remove(c *conn) {
	if c.network == nil {
		return
	}
	if _, open := c.network.conns[c]; open {
		delete(c.network.conns, c)
		l.forget(c.address, c.network)
		l.count(c, -c.weight)
	}
}

func (l *Listener) forget(address netip.Prefix, n *network) {
	if len(n.conns) == 0 && l.networks[address] == n {
		delete(l.networks, address)
	}
}
