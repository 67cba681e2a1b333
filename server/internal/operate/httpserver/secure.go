package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// handshakeTimeout limits a TLS handshake.
const handshakeTimeout = 10 * time.Second

// handshakes accepts connections and performs their TLS handshakes concurrently. net/http gets the
// connections after the handshake, because it needs to know the negotiated protocol.
type handshakes struct {
	listener *Listener
	ctx      context.Context //nolint:containedctx // canceled by close
	close    context.CancelFunc
	done     chan accepted
}

type accepted struct {
	conn net.Conn
	err  error
}

func newHandshakes(l *Listener) *handshakes {
	h := &handshakes{listener: l, done: make(chan accepted)}
	h.ctx, h.close = context.WithCancel(context.Background())
	go h.run()
	return h
}

func (h *handshakes) accept() (net.Conn, error) {
	select {
	case a := <-h.done:
		return a.conn, a.err
	case <-h.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (h *handshakes) run() {
	var running sync.WaitGroup
	for {
		c, err := h.listener.accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				running.Wait() // a listener that drains delivers what it has accepted
			}
			if !h.deliver(accepted{err: err}) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		running.Go(func() { h.handshake(c) })
	}
}

// deliver waits until accept takes the connection. It returns false if the listener is closed before.
func (h *handshakes) deliver(a accepted) bool {
	select {
	case h.done <- a:
		return true
	case <-h.ctx.Done():
		return false
	}
}

func (h *handshakes) handshake(c *conn) {
	ctx, cancel := context.WithTimeout(h.ctx, handshakeTimeout)
	defer cancel()
	secure := tls.Server(c, h.listener.cfg.TLS)
	err := secure.HandshakeContext(ctx)
	if err != nil {
		if plain, ok := errors.AsType[tls.RecordHeaderError](err); ok && plain.Conn != nil && speaksHTTP(plain.RecordHeader[:]) {
			_, _ = c.Conn.Write(c.problemOf(http.StatusBadRequest, "This port speaks TLS: use https.")) // best effort
		}
		_ = c.Close()
		return
	}
	var outer net.Conn = secure
	if secure.ConnectionState().NegotiatedProtocol != http2 {
		outer = secureConn{secure, c}
	}
	if !h.deliver(accepted{conn: outer}) {
		_ = c.Close()
	}
}

// http2 is the ALPN name of HTTP/2.
const http2 = "h2"

// speaksHTTP reports whether the bytes in place of a TLS record header are the start of an HTTP request.
func speaksHTTP(header []byte) bool {
	switch string(header) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH":
		return true
	}
	return false
}

// secureConn is a connection with HTTP/1.1 over TLS.
type secureConn struct {
	*tls.Conn

	conn *conn
}

func (s secureConn) Write(p []byte) (int, error) { return s.conn.writeResponse(s.Conn, p) }
