package listener

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"
)

// handshakeTimeout bounds the handshake of TLS.
const handshakeTimeout = 10 * time.Second

// handshakes accepts connections and makes them speak TLS, each beside the others, before net/http sees
// them: it takes what it must know of a connection's protocol from the handshake.
type handshakes struct {
	listener *Listener
	ctx      context.Context //nolint:containedctx // until close
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
	for {
		c, err := h.listener.accept()
		if err != nil {
			if !h.hand(accepted{err: err}) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		go h.shake(c)
	}
}

// hand waits until somebody accepts, and reports whether anybody did.
func (h *handshakes) hand(a accepted) bool {
	select {
	case h.done <- a:
		return true
	case <-h.ctx.Done():
		return false
	}
}

func (h *handshakes) shake(c *conn) {
	ctx, cancel := context.WithTimeout(h.ctx, handshakeTimeout)
	defer cancel()
	secure := tls.Server(c, h.listener.cfg.TLS)
	err := secure.HandshakeContext(ctx)
	if err != nil {
		if plain, ok := errors.AsType[tls.RecordHeaderError](err); ok && plain.Conn != nil && speaksHTTP(plain.RecordHeader[:]) {
			_, _ = c.Conn.Write(c.problemOf(http.StatusBadRequest, "This port speaks TLS: use https.")) // as far as it gets
		}
		_ = c.Close()
		return
	}
	var outer net.Conn = secure
	if secure.ConnectionState().NegotiatedProtocol != http2 {
		outer = secureConn{secure, c}
	}
	if !h.hand(accepted{conn: outer}) {
		_ = c.Close()
	}
}

// http2 is the name of HTTP/2 in TLS.
const http2 = "h2"

// speaksHTTP reports whether what should be the header of a TLS record begins a request.
func speaksHTTP(header []byte) bool {
	switch string(header) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH":
		return true
	}
	return false
}

// secureConn is a connection of HTTP/1.1 over TLS.
type secureConn struct {
	*tls.Conn

	conn *conn
}

func (s secureConn) Write(p []byte) (int, error) { return s.conn.answer(s.Conn, p) }

// answer is a ResponseWriter of HTTP/2, where other things are written to a connection too.
type answer struct {
	http.ResponseWriter

	conn *conn
}

func (a *answer) Write(p []byte) (int, error) {
	n, err := a.ResponseWriter.Write(p)
	a.conn.touch()
	return n, err
}

// Unwrap serves http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
