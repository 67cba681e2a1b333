package httpserver

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"
)

// conn is a connection of a Listener.
type conn struct {
	net.Conn
	listener *Listener
	address  netip.Prefix
	trusted  bool
	network  *network // nil until the connection is admitted; guarded by Listener.mu, as are streams and weight

	streams int // open HTTP/2 requests
	weight  int // number of connections that it counts as

	active   atomic.Int64 // time of the last activity, in nanoseconds since the listener began
	serving  atomic.Int32 // requests that have been received completely and are being handled
	requests atomic.Int64 // HTTP/2 requests that reached a handler
	received atomic.Int64 // bytes of bodies that handlers have read, and bodyBytes more for each body
	handling atomic.Bool  // whether a handler has been called since the last response
	fresh    atomic.Bool  // until the first request begins
	idle     *time.Timer  // runs between requests
	closed   atomic.Bool
	head     head
}

func newConn(l *Listener, inner net.Conn) *conn {
	c := &conn{Conn: inner, listener: l, address: networkOf(inner.RemoteAddr())}
	if ip := addressOf(inner.RemoteAddr()); ip.IsValid() && l.cfg.Trusted != nil && l.cfg.Trusted(ip) {
		c.trusted, c.address = true, netip.PrefixFrom(ip, ip.BitLen()) // separate from other addresses of its network
	}
	c.fresh.Store(true)
	limitUnsent(inner)
	c.idle = time.AfterFunc(time.Hour, c.endIdle)
	c.idle.Stop()
	c.touch()
	return c
}

// touch marks the connection as active. It returns the time.
func (c *conn) touch() (now int64) {
	now = int64(time.Since(c.listener.began))
	c.active.Store(now)
	return now
}

func (c *conn) startIdle() {
	if c.listener.idle > 0 {
		c.idle.Reset(c.listener.idle)
		if c.closed.Load() {
			c.idle.Stop()
		}
	}
}

// endIdle fails the pending read, so that net/http closes the connection.
func (c *conn) endIdle() { _ = c.SetReadDeadline(time.Now()) }

type connKey struct{}

// connOf returns the conn that may be wrapped by a secureConn, or nil.
func connOf(c net.Conn) *conn {
	if secure, ok := c.(*secureConn); ok {
		return secure.conn
	}
	found, _ := c.(*conn)
	return found
}

// networkOf returns the network that the limits per address apply to: a single IPv4 address, or the first 64
// bits of an IPv6 address, whose owner can choose the rest. All other addresses are one network.
func networkOf(address net.Addr) netip.Prefix {
	ip := addressOf(address)
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	network, _ := ip.Prefix(bits) // bits is always valid
	return network
}

// addressOf returns the IP address, or the zero Addr if address is not a TCP address.
func addressOf(address net.Addr) netip.Addr {
	if tcp, ok := address.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// Write writes data of net/http. With TLS, secureConn calls writeResponse instead, because the data here is
// encrypted.
func (c *conn) Write(p []byte) (int, error) {
	if c.listener.cfg.TLS != nil {
		return c.Conn.Write(p)
	}
	return c.writeResponse(c.Conn, p)
}

// writeResponse writes p. If p is an error that net/http sends before it calls a handler, it writes a problem
// document instead.
func (c *conn) writeResponse(w io.Writer, p []byte) (int, error) {
	c.touch()
	if !c.handling.Load() && bytes.HasPrefix(p, []byte("HTTP/1.1 ")) {
		if problem := c.problem(p); problem != nil {
			if _, err := w.Write(problem); err != nil {
				return 0, err
			}
			return len(p), nil
		}
	}
	return w.Write(p)
}

// CloseWrite allows the client to read the response before the connection is closed.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *conn) Close() error {
	c.closed.Store(true)
	c.idle.Stop()
	c.listener.mu.Lock()
	c.listener.remove(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// refuse closes a connection that was not admitted, after a 503 without TLS.
func (c *conn) refuse() {
	if c.listener.cfg.TLS == nil {
		_ = c.SetWriteDeadline(time.Now().Add(time.Millisecond))
		_, _ = c.Conn.Write(c.problemOf(http.StatusServiceUnavailable, detailOf(http.StatusServiceUnavailable)))
	}
	_ = c.Conn.Close()
}
