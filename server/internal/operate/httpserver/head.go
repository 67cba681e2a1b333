package httpserver

import (
	"bytes"
	"net/http"
)

// maxHeaders limits the headers of a request. Each takes about 100 bytes of memory more than it has, so the limit of
// their bytes alone would allow a multiple of it.
const maxHeaders = 128

// head is what was received of an HTTP/1 request before its body.
type head struct {
	lines int
	text  bool // whether the last line has begun
	ended bool
}

// scan counts the lines in a part of what is received.
func (h *head) scan(rest []byte) {
	for ; len(rest) > 0 && !h.ended; rest = rest[1:] {
		switch {
		case rest[0] != '\n':
			h.text = h.text || rest[0] != '\r'
		case h.text:
			h.lines, h.text = h.lines+1, false
		default:
			h.ended = true
		}
	}
}

// Read counts the headers, unless TLS encrypts them.
func (c *conn) Read(p []byte) (int, error) {
	if c.listener.cfg.TLS != nil {
		return c.Conn.Read(p)
	}
	return c.readHead(c.Conn.Read, p)
}

// readHead reads a part of an HTTP/1 request. If there are too many headers, it returns one that never ends, to which
// net/http responds with 431.
func (c *conn) readHead(read func([]byte) (int, error), p []byte) (n int, err error) {
	if c.handling.Load() {
		return read(p)
	}
	const limit = maxHeaders + 1 // with the request line
	if c.head.lines <= limit {
		n, err = read(p)
		c.head.scan(p[:n])
	}
	if c.head.lines > limit {
		return copy(p, bytes.Repeat([]byte{'a'}, len(p))), nil
	}
	return n, err
}

// headersOf returns the number of headers of a request.
func headersOf(r *http.Request) (n int) {
	for _, values := range r.Header {
		n += len(values)
	}
	return n
}
