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

// Fault is what a request gets in place of a good answer. It holds no state, so one may
// serve any number of requests at once. The zero value answers 200.
type Fault struct {
	early bool // comes before the request's body is read
	serve func(ctx context.Context, conn net.Conn, r Request) (keep bool)
}

func (f Fault) run(ctx context.Context, conn net.Conn, r Request) (keep bool) {
	if f.serve != nil {
		return f.serve(ctx, conn, r)
	}
	_, err := io.WriteString(conn, ok)
	return err == nil
}

// Func is a fault of the caller's own. serve is called when the whole request was read,
// with the bare connection; ctx ends when the server closes it. It reports whether the
// connection may carry another request.
func Func(serve func(ctx context.Context, conn net.Conn, r Request) (keep bool)) Fault {
	return Fault{serve: serve}
}

// Answer is an answer that breaks no rule. The connection stays open.
func Answer(status int, header http.Header, body string) Fault {
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

// Status is an answer with a status and no body.
func Status(status int) Fault { return Answer(status, nil, "") }

// RetryAfter is an answer with a Retry-After header of any text, such as "120", a date,
// "-1" or "soon".
func RetryAfter(status int, value string) Fault {
	return Answer(status, http.Header{"Retry-After": {value}}, "")
}

// Redirect is an answer that points to another URL.
func Redirect(status int, location string) Fault {
	return Answer(status, http.Header{"Location": {location}}, "")
}

// Raw writes text as it is, then holds the connection until the sender leaves.
func Raw(text string) Fault { return Repeat(text, "", 0) }

// Cut writes text as it is, which may be nothing, then closes the connection.
func Cut(text string) Fault {
	return Func(func(_ context.Context, conn net.Conn, _ Request) bool {
		_, _ = io.WriteString(conn, text)
		return false
	})
}

// Repeat writes head and then block again and again, waiting every in between, until the
// sender leaves.
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

// Hang reads the request and never answers.
func Hang() Fault { return Raw("") }

// Stall stops reading after the request's headers and never answers.
func Stall() Fault {
	return Fault{early: true, serve: func(ctx context.Context, _ net.Conn, _ Request) bool {
		<-ctx.Done()
		return false
	}}
}

// Late answers 200 after a delay, which may be longer than the sender's patience.
func Late(delay time.Duration) Fault {
	return Func(func(ctx context.Context, conn net.Conn, r Request) bool {
		return wait(ctx, delay) && Fault{}.run(ctx, conn, r)
	})
}

// SlowHeaders begins an answer of 200 whose headers never end, a byte at a time.
func SlowHeaders(every time.Duration) Fault { return Repeat("HTTP/1.1 200 OK\r\nX: ", "x", every) }

// SlowBody answers 200 with a body of 10 GB, a byte at a time.
func SlowBody(every time.Duration) Fault {
	return Repeat("HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n", "x", every)
}

// HugeBody answers 200 with a body of size bytes, as fast as the sender reads.
func HugeBody(size int64) Fault { return flood("", size, bytes.Repeat([]byte{'x'}, 64<<10)) }

// GzipBomb answers 200 with 10 MB that inflate to 10 GB, whether gzip was asked for or not.
func GzipBomb() Fault {
	var member bytes.Buffer
	writer := gzip.NewWriter(&member)
	_, _ = writer.Write(make([]byte, 1<<20))
	_ = writer.Close()
	return flood("Content-Encoding: gzip\r\n", int64(member.Len())*10_000, member.Bytes())
}

// HugeHeaders answers 200 with one header of size bytes.
func HugeHeaders(size int) Fault {
	return Raw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", size) + "\r\nContent-Length: 0\r\n\r\n")
}

// ManyHeaders answers 200 with a number of short headers.
func ManyHeaders(number int) Fault {
	return Raw("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: xxxx\r\n", number) + "Content-Length: 0\r\n\r\n")
}

// EndlessInformational sends one 103 after the other and never an answer.
func EndlessInformational() Fault { return Repeat("", "HTTP/1.1 103 Early Hints\r\n\r\n", 0) }

// BrokenStatusLine answers with a first line that is not HTTP.
func BrokenStatusLine() Fault { return Raw("HTTP/1.1 OK 200\r\n\r\n") }

// HTTP10 answers 200 by HTTP/1.0, with a body that ends with the connection.
func HTTP10() Fault { return Cut("HTTP/1.0 200 OK\r\n\r\nok") }

// CloseBetween answers 200 as if the connection stayed open, then closes it, so that the
// next request may meet a connection about to go.
func CloseBetween() Fault { return Cut(ok) }

// ResetMidRequest resets the connection before the request's body is read.
func ResetMidRequest() Fault { return Fault{early: true, serve: reset} }

// ResetAfterBody reads the whole request, then resets the connection.
func ResetAfterBody() Fault { return Func(reset) }

// reset closes with RST in place of FIN, where the connection is TCP.
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

// flood answers 200 with blocks up to a length, then keeps the connection.
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

// wait reports whether delay passed before the connection was closed by the server.
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
