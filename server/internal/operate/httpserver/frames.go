package httpserver

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
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
)

// clientPreface is of RFC 9113.
const clientPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

var errFlood = errors.New("listener: too many HTTP/2 frames")

// secureConn is a connection over TLS that net/http serves like one without: it is no [*tls.Conn], so that errors that
// net/http sends can be replaced, and frames counted. net/http finds the preface of HTTP/2 itself.
type secureConn struct {
	net.Conn // a *tls.Conn

	conn    *conn
	written atomic.Int64

	preface int     // bytes of the preface that were received; -1 without HTTP/2
	header  [9]byte // of the next frame, as far as it was received
	have    int
	payload int // bytes of the payload that were not yet received

	left  int       // how many frames may follow before the next refill
	since time.Time // of the last refill
	paid  int64     // earned at the last refill
}

// Write counts the bytes that the server sends.
func (s *secureConn) Write(p []byte) (int, error) {
	n, err := s.conn.writeResponse(s.Conn, p)
	s.written.Add(int64(n))
	return n, err
}

// Read counts the headers of HTTP/1.
func (s *secureConn) Read(p []byte) (int, error) {
	if s.preface == len(clientPreface) {
		return s.read(p)
	}
	return s.conn.readHead(s.read, p)
}

// read performs the handshake first. It returns an error if the client sends too many frames. net/http closes the
// connection then.
func (s *secureConn) read(p []byte) (int, error) {
	if err := s.Conn.(*tls.Conn).Handshake(); err != nil { //nolint:forcetypeassert,noctx // Accept sets it, and the deadline of Read ends it
		if plain, ok := errors.AsType[tls.RecordHeaderError](err); ok && plain.Conn != nil && s.preface == 0 && speaksHTTP(plain.RecordHeader[:]) {
			s.preface = -1                                                                                        // net/http reads once more after this error
			_, _ = s.conn.Conn.Write(s.conn.problemOf(http.StatusBadRequest, "This port speaks TLS: use https.")) // best effort
		}
		return 0, io.EOF // which net/http does not answer
	}
	n, err := s.Conn.Read(p)
	if !s.scan(p[:n]) {
		l := s.conn.listener
		l.mu.Lock()
		l.closed++
		l.unlock(nil)
		return 0, errFlood
	}
	return n, err
}

// CloseWrite allows the client to read the response before the connection is closed.
func (s *secureConn) CloseWrite() error {
	return s.Conn.(*tls.Conn).CloseWrite() //nolint:forcetypeassert // as in Read
}

// speaksHTTP reports whether the bytes in place of a TLS record header are the start of an HTTP request.
func speaksHTTP(header []byte) bool {
	return slices.Contains([]string{"GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH"}, string(header))
}

// scan counts the frames in a part of what is received. It returns false if there are too many.
func (s *secureConn) scan(rest []byte) bool {
	for ; len(rest) > 0 && s.preface >= 0 && s.preface < len(clientPreface); rest = rest[1:] {
		if s.preface++; rest[0] != clientPreface[s.preface-1] {
			s.preface = -1
		}
	}
	for s.preface > 0 && len(rest) > 0 {
		if s.payload > 0 {
			skipped := min(s.payload, len(rest))
			s.payload, rest = s.payload-skipped, rest[skipped:]
			continue
		}
		copied := copy(s.header[s.have:], rest)
		s.have, rest = s.have+copied, rest[copied:]
		if s.have < len(s.header) {
			break
		}
		s.have, s.payload = 0, int(binary.BigEndian.Uint32(s.header[:4])>>8)
		if !s.take() {
			return false
		}
	}
	return true
}

// take counts a frame, and reports whether it was allowed.
func (s *secureConn) take() bool {
	if s.left == 0 {
		now, earned := time.Now(), s.written.Load()/frameBytes+s.conn.requests.Load()+s.conn.received.Load()/bodyBytes
		gain := int64(now.Sub(s.since).Seconds()*frameRate) + earned - s.paid
		if gain < 1 {
			return false
		}
		s.left, s.since, s.paid = int(min(gain, frameBurst)), now, earned
	}
	s.left--
	return true
}
