package faultserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	ok         = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	badRequest = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"
)

// Fault is a faulty response to a request. It has no state and is safe for concurrent use. The zero value
// responds with 200.
type Fault struct {
	early bool // runs before the request body is read
	serve func(ctx context.Context, conn net.Conn, r Request) (keep bool)
}

func (f Fault) run(ctx context.Context, conn net.Conn, r Request) (keep bool) {
	if f.serve != nil {
		return f.serve(ctx, conn, r)
	}
	_, err := io.WriteString(conn, ok)
	return err == nil
}

// Func returns a custom fault. serve is called with the raw connection after the whole request has been read.
// ctx ends when the server closes the connection. serve reports whether the connection may be used for
// another request. It is called concurrently.
func Func(serve func(ctx context.Context, conn net.Conn, r Request) (keep bool)) Fault {
	return Fault{serve: serve}
}

// Respond responds with a well-formed response. The connection stays open.
func Respond(status int, header http.Header, body string) Fault {
	var text bytes.Buffer
	fmt.Fprintf(&text, "HTTP/1.1 %03d %s\r\n", status, http.StatusText(status))
	_ = header.Write(&text)
	if status/100 != 1 && status != http.StatusNoContent && status != http.StatusNotModified {
		fmt.Fprintf(&text, "Content-Length: %d\r\n", len(body))
	} else {
		body = ""
	}
	text.WriteString("\r\n" + body)
	return Func(func(_ context.Context, conn net.Conn, _ Request) bool {
		_, err := conn.Write(text.Bytes())
		return err == nil
	})
}

// Status responds with a status and no body.
func Status(status int) Fault { return Respond(status, nil, "") }

// RetryAfter responds with a Retry-After header of any value, such as "120", a date, "-1" or "soon".
func RetryAfter(status int, value string) Fault {
	return Respond(status, http.Header{"Retry-After": {value}}, "")
}

// Redirect responds with a Location header.
func Redirect(status int, location string) Fault {
	return Respond(status, http.Header{"Location": {location}}, "")
}

// Raw writes text, and then keeps the connection open until the sender closes it.
func Raw(text string) Fault { return Repeat(text, "", 0) }

// Cut writes text, which may be empty, and then closes the connection.
func Cut(text string) Fault {
	return Func(func(_ context.Context, conn net.Conn, _ Request) bool {
		_, _ = io.WriteString(conn, text)
		return false
	})
}

// Repeat writes head, and then block repeatedly, with a pause of every in between, until the sender closes
// the connection.
func Repeat(head, block string, every time.Duration) Fault {
	once, again := []byte(head), []byte(block)
	return Func(func(ctx context.Context, conn net.Conn, _ Request) bool {
		_, err := conn.Write(once)
		if block == "" {
			_, _ = io.Copy(io.Discard, conn)
			return false
		}
		for err == nil && wait(ctx, every) {
			_, err = conn.Write(again)
		}
		return false
	})
}

// Hang reads the request and never responds.
func Hang() Fault { return Raw("") }

// Stall stops reading after the request headers and never responds.
func Stall() Fault {
	return Fault{early: true, serve: func(ctx context.Context, _ net.Conn, _ Request) bool {
		<-ctx.Done()
		return false
	}}
}

// Late responds with 200 after a delay, which may exceed the timeout of the sender.
func Late(delay time.Duration) Fault {
	return Func(func(ctx context.Context, conn net.Conn, r Request) bool {
		return wait(ctx, delay) && Fault{}.run(ctx, conn, r)
	})
}

// SlowHeaders starts a 200 response whose headers never end. It sends one byte every interval.
func SlowHeaders(every time.Duration) Fault { return Repeat("HTTP/1.1 200 OK\r\nX: ", "x", every) }

// SlowBody responds with 200 and a body of 10 GB. It sends one byte every interval.
func SlowBody(every time.Duration) Fault {
	return Repeat("HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n", "x", every)
}

// HugeBody responds with 200 and a body of size bytes, as fast as the sender reads.
func HugeBody(size int64) Fault { return flood("", size, bytes.Repeat([]byte{'x'}, 64<<10)) }

// GzipBomb responds with 200 and 10 MB that decompress to 10 GB, even if the request does not accept gzip.
func GzipBomb() Fault {
	var member bytes.Buffer
	writer := gzip.NewWriter(&member)
	_, _ = writer.Write(make([]byte, 1<<20))
	_ = writer.Close()
	block := bytes.Repeat(member.Bytes(), 64) // writes of 1 KiB would use three times the CPU time
	return flood("Content-Encoding: gzip\r\n", int64(member.Len())*10_000, block)
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

// BrokenStatusLine responds with a status line that is not HTTP.
func BrokenStatusLine() Fault { return Raw("HTTP/1.1 OK 200\r\n\r\n") }

// HTTP10 responds with 200 in HTTP/1.0. The body ends with the connection.
func HTTP10() Fault { return Cut("HTTP/1.0 200 OK\r\n\r\nok") }

// CloseBetween responds with 200 as if the connection stayed open, and then closes it, so that the next
// request may be sent on a closing connection.
func CloseBetween() Fault { return Cut(ok) }

// ResetMidRequest resets the connection before the request body is read.
func ResetMidRequest() Fault { return Fault{early: true, serve: reset} }

// ResetAfterBody reads the whole request, and then resets the connection.
func ResetAfterBody() Fault { return Func(reset) }

// reset closes a TCP connection with RST instead of FIN.
func reset(_ context.Context, conn net.Conn, _ Request) bool {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if lingerer, ok := conn.(interface{ SetLinger(seconds int) error }); ok {
		_ = lingerer.SetLinger(0)
	}
	_ = conn.Close()
	return false
}

// flood responds with 200 and repeated blocks up to length, and keeps the connection open.
func flood(header string, length int64, block []byte) Fault {
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n", header, length)
	return Func(func(_ context.Context, conn net.Conn, _ Request) bool {
		_, err := io.WriteString(conn, head)
		for left := length; err == nil && left > 0; left -= int64(len(block)) {
			_, err = conn.Write(block[:min(left, int64(len(block)))])
		}
		return err == nil
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
