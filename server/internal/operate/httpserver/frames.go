package httpserver

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// A client may send frameBurst frames, then frameRate per second, and one more for each frameBytes that the server
// sends to it, for each request that reaches a handler, and for each body and each bodyBytes that a handler reads. So
// it can upload, and acknowledge and cancel what it gets, but not keep the server busy with frames that are answered
// without a handler, such as PING, SETTINGS, RST_STREAM, and DATA of a request that has ended.
const (
	frameBurst = 2000
	frameRate  = 200
	frameBytes = 32
	bodyBytes  = 64

	prefaceTimeout = 10 * time.Second
)

// http2 is the ALPN name of HTTP/2.
const http2 = "h2"

// clientPreface is of RFC 9113.
const clientPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

var errFlood = errors.New("listener: too many HTTP/2 frames")

// countFrames makes server count the frames of HTTP/2 connections. net/http reads these from a [*tls.Conn], except if
// it gets them by its entry for connections without TLS, after the preface. server must have configured HTTP/2.
func (l *Listener) countFrames(server *http.Server) {
	const entry = "unencrypted_http2"
	serve, ok := server.TLSNextProto[entry]
	if _, enabled := server.TLSNextProto[http2]; !ok || !enabled {
		return
	}
	server.TLSNextProto[http2] = func(server *http.Server, c *tls.Conn, handler http.Handler) {
		preface := make([]byte, len(clientPreface))
		_ = c.SetReadDeadline(time.Now().Add(prefaceTimeout))
		if _, err := io.ReadFull(c, preface); err != nil || string(preface) != clientPreface {
			_ = c.Close()
			return
		}
		_ = c.SetReadDeadline(time.Time{})
		counted := &frames{Conn: c, conn: connOf(c), left: frameBurst, since: time.Now()}
		serve(server, tls.Client(handoff{conn: counted}, nil), handler)
	}
}

// handoff is how net/http passes a connection without TLS to its implementation of HTTP/2.
type handoff struct {
	net.Conn // nil: no method is called

	conn net.Conn
}

// UnencryptedNetConn returns the connection.
func (h handoff) UnencryptedNetConn() net.Conn { return h.conn }

// frames is an HTTP/2 connection that counts the frames that it receives.
type frames struct {
	*tls.Conn

	conn    *conn
	written atomic.Int64

	header  [9]byte // of the next frame, as far as it was received
	have    int
	payload int // bytes of the payload that were not yet received

	left  int       // how many frames may follow before the next refill
	since time.Time // of the last refill
	paid  int64     // earned at the last refill
}

// Write counts the bytes that the server sends.
func (f *frames) Write(p []byte) (int, error) {
	n, err := f.Conn.Write(p)
	f.written.Add(int64(n))
	return n, err
}

// Read returns an error if the client sends too many frames. net/http closes the connection then.
func (f *frames) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if !f.scan(p[:n]) {
		f.conn.listener.reportFlood()
		return 0, errFlood
	}
	return n, err
}

// scan counts the frames in a part of what is received. It returns false if there are too many.
func (f *frames) scan(rest []byte) bool {
	for len(rest) > 0 {
		if f.payload > 0 {
			skipped := min(f.payload, len(rest))
			f.payload, rest = f.payload-skipped, rest[skipped:]
			continue
		}
		copied := copy(f.header[f.have:], rest)
		f.have, rest = f.have+copied, rest[copied:]
		if f.have < len(f.header) {
			break
		}
		f.have, f.payload = 0, int(binary.BigEndian.Uint32(f.header[:4])>>8)
		if !f.take() {
			return false
		}
	}
	return true
}

// take counts a frame, and reports whether it was allowed.
func (f *frames) take() bool {
	if f.left == 0 {
		now, earned := time.Now(), f.written.Load()/frameBytes+f.conn.requests.Load()+f.conn.received.Load()/bodyBytes
		gain := int64(now.Sub(f.since).Seconds()*frameRate) + earned - f.paid
		if gain < 1 {
			return false
		}
		f.left, f.since, f.paid = int(min(gain, frameBurst)), now, earned
	}
	f.left--
	return true
}

// reportFlood counts a connection that is closed because of its frames.
func (l *Listener) reportFlood() {
	l.mu.Lock()
	l.closed++
	l.unlock(nil)
}
