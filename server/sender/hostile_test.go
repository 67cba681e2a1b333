package sender_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/sender"
)

const endless = "HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n"

// pour answers with head and then block again and again, one block per tick, for as long
// as the sender listens.
func pour(head, block string, tick time.Duration) func(net.Conn) {
	return func(conn net.Conn) {
		again := []byte(block)
		readRequest(bufio.NewReader(conn))
		_, err := io.WriteString(conn, head)
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		for ; err == nil; <-ticker.C {
			_, err = conn.Write(again)
		}
	}
}

// Whatever a receiver does, an attempt ends by its deadline, and at once when there is
// nothing to wait for, with the failure that fits.
func TestSend_Hostile(t *testing.T) {
	t.Parallel()
	const deadline = 15 * time.Second
	tests := []struct {
		name   string
		serve  func(net.Conn)
		status int
		want   sender.Failure
		waits  bool // until the deadline
	}{
		{"accepts and never answers", hold, 0, sender.FailureTimeout, true},
		{"never reads", func(net.Conn) { <-time.After(2 * deadline) }, 0, sender.FailureTimeout, true},
		{"200 after the deadline", func(conn net.Conn) {
			readRequest(bufio.NewReader(conn))
			<-time.After(deadline + time.Nanosecond)
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		}, 0, sender.FailureTimeout, true},
		{"half a status line", answers("HTTP/1.1 20"), 0, sender.FailureTimeout, true},
		{"headers that drip", pour("HTTP/1.1 200 OK\r\nX: ", "x", time.Second), 0, sender.FailureTimeout, true},
		{"informational for ever", pour("", "HTTP/1.1 103 Early Hints\r\n\r\n", time.Microsecond), 0, sender.FailureProtocol, false},
		{"1 MB of headers", answers("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"), 0, sender.FailureProtocol, false},
		{"1 MB in many headers", answers("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: xxxx\r\n", 1<<17) + "\r\n"), 0, sender.FailureProtocol, false},
		{"broken status line", answers("HTTP/1.1 OK 200\r\n\r\n"), 0, sender.FailureProtocol, false},
		{"not HTTP", answers("220 smtp.example ESMTP\r\n"), 0, sender.FailureProtocol, false},
		{"two lengths", answers("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), 0, sender.FailureProtocol, false},
		{"headers break off", func(conn net.Conn) {
			readRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX: ")
		}, 0, sender.FailureProtocol, false},
		{"closes at once", func(net.Conn) {}, 0, sender.FailureReset, false},
		{"closes after reading", func(conn net.Conn) { readRequest(bufio.NewReader(conn)) }, 0, sender.FailureReset, false},
		{"other protocol", answers("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"), 101, sender.FailureStatus, false},
		{"500 and a body that stalls", answers("HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\nx"), 500, sender.FailureStatus, true},

		// The status decides, whatever follows it.
		{"200 and a body that stalls", answers("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), 200, "", true},
		{"200 and a body that drips", pour(endless, "x", time.Second), 200, "", true},
		{"200 and an endless body", pour(endless, strings.Repeat("x", 64<<10), time.Microsecond), 200, "", false},
		{"200 and a body that breaks off", func(conn net.Conn) {
			readRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, endless+"x")
		}, 200, "", false},
		{"200 and broken chunks", answers("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), 200, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			attempt := attemptAt(t, tt.serve, sender.Config{}, "http://127.0.0.1/?token=topsecret")
			if attempt.Status != tt.status || attempt.Failure != tt.want || attempt.Delivered() != (tt.want == "") || attempt.Address == "" {
				t.Errorf("%+v", attempt)
			}
			if tt.waits != (attempt.Duration == deadline) || attempt.Duration > deadline || len(attempt.Excerpt) > 4<<10 {
				t.Errorf("took %v, kept %d bytes", attempt.Duration, len(attempt.Excerpt))
			}
		})
	}
}

// A connection may end without a FIN, before or after the request was read.
func TestSend_Reset(t *testing.T) {
	t.Parallel()
	s := newSender(t, sender.Config{})
	for name, read := range map[string]func(net.Conn){
		"mid-request": func(conn net.Conn) { _, _ = conn.Read(make([]byte, 9)) },
		"after":       func(conn net.Conn) { readRequest(bufio.NewReader(conn)) },
	} {
		address := rawReceiver(t, func(conn net.Conn) {
			read(conn)
			_ = conn.(*net.TCPConn).SetLinger(0)
		})
		if attempt := s.Send(t.Context(), message("http://"+address)); attempt.Failure != sender.FailureReset || attempt.Address != address {
			t.Errorf("%s: %+v", name, attempt)
		}
	}
}

// A compressed answer is neither asked for nor inflated.
func TestSend_NeverInflates(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	_, _ = zip.Write(make([]byte, 16<<20))
	_ = zip.Close()
	serve := answers("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + bomb.String())
	attempt := attemptAt(t, serve, sender.Config{}, "http://127.0.0.1/")
	if !attempt.Delivered() || !bytes.Equal(attempt.Excerpt, bomb.Bytes()[:4<<10]) {
		t.Errorf("status %d, kept %d bytes", attempt.Status, len(attempt.Excerpt))
	}
}

// Bytes per attempt stay small however much the receiver sends.
func BenchmarkSend_Endless(b *testing.B) {
	address := rawReceiver(b, pour(endless, strings.Repeat("x", 64<<10), time.Microsecond))
	s := newSender(b, sender.Config{})
	m := message("http://" + address)
	b.ReportAllocs()
	for b.Loop() {
		if attempt := s.Send(b.Context(), m); !attempt.Delivered() {
			b.Fatalf("%+v", attempt)
		}
	}
}
