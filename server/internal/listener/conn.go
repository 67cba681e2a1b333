package listener

import (
	"bytes"
	"context"
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
	network  *network // nil before there is room for it; this and the next two are the listener's

	streams int // requests of HTTP/2 that are open
	counts  int // as so many connections

	active   atomic.Int64 // when it was last active, in nanoseconds
	serving  atomic.Int32 // requests that have come whole and are being answered
	handling atomic.Bool  // whether a handler was called since the last answer
	begun    bool         // whether anything was read
}

func newConn(l *Listener, inner net.Conn) *conn {
	c := &conn{Conn: inner, listener: l, address: networkOf(inner.RemoteAddr())}
	if ip := addressOf(inner.RemoteAddr()); ip.IsValid() && l.cfg.Trusted(ip) {
		c.trusted, c.address = true, netip.PrefixFrom(ip, ip.BitLen()) // apart from its neighbours
	}
	c.touch()
	return c
}

func (c *conn) touch() { c.active.Store(time.Now().UnixNano()) }

type connKey struct{}

func connFrom(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// connOf finds the connection of a Listener below one of crypto/tls, which a secureConn is too.
func connOf(c net.Conn) *conn {
	if outer, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = outer.NetConn()
	}
	found, _ := c.(*conn)
	return found
}

// networkOf returns an IPv4 address alone, and the 64 bits of an IPv6 address that its owner has not
// chosen. What is neither is one network.
func networkOf(address net.Addr) netip.Prefix {
	ip := addressOf(address)
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	network, _ := ip.Prefix(bits) // the bits fit
	return network
}

// addressOf returns the zero Addr for what is no address of TCP.
func addressOf(address net.Addr) netip.Addr {
	if tcp, ok := address.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

const tlsHandshake = 0x16

// Read ends a connection that begins with TLS where none is spoken.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.begun {
		c.begun = true
		if p[0] == tlsHandshake && c.listener.cfg.TLS == nil {
			return 0, io.EOF
		}
	}
	return n, err
}

// Write sends what net/http answers. Under TLS it cannot be told what of it is an answer.
func (c *conn) Write(p []byte) (int, error) {
	if c.listener.cfg.TLS != nil {
		return c.Conn.Write(p)
	}
	return c.answer(c.Conn, p)
}

// answer sends a problem document in place of what net/http answers before it calls a handler.
func (c *conn) answer(w io.Writer, p []byte) (int, error) {
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

// ReadFrom lets the kernel send files.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	c.touch()
	defer c.touch()
	return io.Copy(c.Conn, r)
}

// CloseWrite lets a caller read the answer before the connection ends.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *conn) Close() error {
	c.listener.mu.Lock()
	c.listener.remove(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// refuse answers a connection for which there is no room.
func (c *conn) refuse() {
	if c.listener.cfg.TLS == nil {
		_ = c.SetWriteDeadline(time.Now().Add(time.Millisecond))
		_, _ = c.Conn.Write(c.problemOf(http.StatusServiceUnavailable, detailOf(http.StatusServiceUnavailable)))
	}
	_ = c.Conn.Close()
}
