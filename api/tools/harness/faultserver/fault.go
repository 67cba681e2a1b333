package faultserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault is a faulty response to a request. It has no state and is safe for concurrent use.
type Fault struct {
	early bool // runs before the request body is read
	serve http.HandlerFunc
}

// ServeHTTP responds with the fault.
func (f Fault) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.read(r)
	f.serve(w, r)
}

// Func returns a custom fault, whose handler is called after the whole request has been read.
func Func(serve http.HandlerFunc) Fault { return Fault{serve: serve} }

// onConn returns a fault that has the connection for itself. It closes the connection at the end, and when the server
// is closed.
func onConn(serve func(ctx context.Context, conn net.Conn)) Fault {
	return Func(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return // the sender has gone
		}
		defer func() { _ = conn.Close() }()
		defer context.AfterFunc(r.Context(), func() { _ = conn.Close() })()
		serve(r.Context(), conn)
	})
}

// Respond responds with a well-formed response. The connection stays open.
func Respond(status int, header http.Header, body string) Fault {
	return Func(func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// Status responds with a status and no body.
func Status(status int) Fault { return Respond(status, nil, "") }

// Raw writes text, and then keeps the connection open until the sender closes it.
func Raw(text string) Fault { return Repeat(text, "", 0) }

// Cut writes text, which may be empty, and then closes the connection.
func Cut(text string) Fault {
	return onConn(func(_ context.Context, conn net.Conn) { _, _ = io.WriteString(conn, text) })
}

// Repeat writes head, and then block repeatedly, with a pause of every in between, until the sender closes
// the connection.
func Repeat(head, block string, every time.Duration) Fault {
	return onConn(func(ctx context.Context, conn net.Conn) {
		_, err := io.WriteString(conn, head)
		if block == "" {
			_, _ = io.Copy(io.Discard, conn)
		}
		for err == nil && block != "" && wait(ctx, every) {
			_, err = io.WriteString(conn, block)
		}
	})
}

// Hang reads the request and never responds.
func Hang() Fault { return Raw("") }

// Stall stops reading after the request headers and never responds.
func Stall() Fault {
	return Fault{early: true, serve: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}
}

// Late responds with 200 after a delay, which may exceed the timeout of the sender.
func Late(delay time.Duration) Fault {
	return Func(func(_ http.ResponseWriter, r *http.Request) { wait(r.Context(), delay) })
}

// SlowHeaders starts a 200 response whose headers never end. It sends one byte every interval.
func SlowHeaders(every time.Duration) Fault { return Repeat("HTTP/1.1 200 OK\r\nX: ", "x", every) }

// SlowBody responds with 200 and a body of 10 GB. It sends one byte every interval.
func SlowBody(every time.Duration) Fault {
	return Repeat("HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n", "x", every)
}

// HugeBody responds with 200 and a body of size bytes, as fast as the sender reads.
func HugeBody(size int64) Fault { return flood(nil, size, bytes.Repeat([]byte{'x'}, 64<<10)) }

// GzipBomb responds with 200 and 10 MB that decompress to 10 GB, even if the request does not accept gzip.
func GzipBomb() Fault {
	var member bytes.Buffer
	writer := gzip.NewWriter(&member)
	_, _ = writer.Write(make([]byte, 1<<20))
	_ = writer.Close()
	block := bytes.Repeat(member.Bytes(), 64) // writes of 1 KiB would use three times the CPU time
	return flood(http.Header{"Content-Encoding": {"gzip"}}, int64(member.Len())*10_000, block)
}

// HugeHeaders responds with 200 and a single header of size bytes.
func HugeHeaders(size int) Fault {
	return Raw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", size) + "\r\nContent-Length: 0\r\n\r\n")
}

// ManyHeaders responds with 200 and the given number of short headers.
func ManyHeaders(number int) Fault {
	return Raw("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: xxxx\r\n", number) + "Content-Length: 0\r\n\r\n")
}

// EndlessInformational sends 103 responses until the sender closes the connection.
func EndlessInformational() Fault { return Repeat("", "HTTP/1.1 103 Early Hints\r\n\r\n", 0) }

// ResetMidRequest resets the connection before the request body is read.
func ResetMidRequest() Fault { return Fault{early: true, serve: ResetAfterBody().serve} }

// ResetAfterBody reads the whole request, and then resets the connection: with RST instead of FIN.
func ResetAfterBody() Fault {
	return onConn(func(_ context.Context, conn net.Conn) {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	})
}

// flood responds with 200 and repeated blocks up to length, and keeps the connection open.
func flood(header http.Header, length int64, block []byte) Fault {
	return Func(func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), header)
		w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
		var err error
		for left := length; err == nil && left > 0; left -= int64(len(block)) {
			_, err = w.Write(block[:min(left, int64(len(block)))])
		}
	})
}

// wait waits for delay. It returns false if the server closes the connection before.
func wait(ctx context.Context, delay time.Duration) bool {
	if delay <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
