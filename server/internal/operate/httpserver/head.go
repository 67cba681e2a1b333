package httpserver

import (
	"bytes"
	"net/http"
)

// maxHeaders limits the headers of a request. Each takes about 100 bytes of memory more than it has, so the limit of
// their bytes alone would allow a multiple of it.
const maxHeaders = 128

// head is what was received of an HTTP/1 request before its handler is called.
type head struct {
	lines int // of the head
	more  int // of the head or a body
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
func (c *conn) readHead(read func([]byte) (int, error), p []byte) (int, error) {
	if c.handling.Load() {
		return read(p)
	}
	if len(p) > 1 { // net/http waits for headers. It reads a single byte when the request is complete.
		c.head = head{lines: c.head.lines + c.head.more}
	}
	if c.head.lines > maxHeaders+8 { // with the request line, and empty lines before it
		return copy(p, bytes.Repeat([]byte{'a'}, len(p))), nil
	}
	n, err := read(p)
	c.head.more += bytes.Count(p[:n], []byte{'\n'})
	return n, err
}

// headersOf returns the number of headers of a request.
func headersOf(r *http.Request) (n int) {
	for _, values := range r.Header {
		n += len(values)
	}
	return n
}
