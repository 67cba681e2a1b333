package sender_test

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness/faultserver"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// Faults whose result over TCP could differ from that over a pipe. Two attempts have the same result. Each attempt
// sends its request once, with the same id and body. The connection is reused only if the response was well-formed. For
// faults that take a timeout, one attempt is enough.
func TestSend_handlesFaultsOverTCP(t *testing.T) {
	t.Parallel()
	const short = 4 * time.Second // on a busy machine, an attempt needs some of it before the fault
	for _, tt := range []struct {
		name                  string
		fault                 faultserver.Fault
		status                int
		want                  sender.Failure
		timeout               time.Duration // 0 if the fault does not wait
		attempts, connections int
	}{
		{"200 by HTTP/1.0", faultserver.Cut("HTTP/1.0 200 OK\r\n\r\nok"), 200, "", 0, 2, 2},
		{"429", faultserver.Respond(429, http.Header{"Retry-After": {"90"}}, ""), 429, sender.FailureStatus, 0, 2, 1},
		{"never reads the body", faultserver.Stall(), 0, sender.FailureTimeout, short, 1, 1},
		{"headers, then a byte at a time", faultserver.SlowBody(short / 10), 200, "", short, 1, 1},
		{"10 GB body", faultserver.HugeBody(10e9), 200, "", 0, 2, 2},
		{"1 MB of headers", faultserver.HugeHeaders(1 << 20), 0, sender.FailureProtocol, 0, 2, 2},
		{"reset mid-request", faultserver.ResetMidRequest(), 0, sender.FailureReset, 0, 2, 2},
		{"reset after the body", faultserver.ResetAfterBody(), 0, sender.FailureReset, 0, 2, 2},
		{"closed after the body", faultserver.Cut(""), 0, sender.FailureReset, 0, 2, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := faultserver.New(t, tt.fault)
			s := newSender(t, sender.Config{Timeout: tt.timeout})
			m := message(server.URL() + "/?token=topsecret")
			for range tt.attempts {
				attempt := s.Send(t.Context(), m)
				if attempt.Status != tt.status || attempt.Failure != tt.want || attempt.Address != server.Address() ||
					attempt.Duration < tt.timeout || (attempt.RetryAfter == 90*time.Second) != (tt.status == 429) {
					t.Errorf("%+v", attempt)
				}
				attempt.Excerpt = nil
				if text := fmt.Sprintf("%+v", attempt); strings.Contains(text, "topsecret") || strings.Contains(text, string(m.Body)) {
					t.Errorf("%s holds a confidential part of the message", text)
				}
			}
			received := server.Received()
			if len(received) != tt.attempts || server.Connections() != tt.connections {
				t.Fatalf("%d requests on %d connections, want %d", len(received), server.Connections(), tt.connections)
			}
			for _, r := range received {
				if r.Header.Get("Webhook-Id") != m.ID || r.Body != nil && string(r.Body) != string(m.Body) {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// All allocations during 64 hostile responses at once, including those of the receiver, are below 64 MiB.
func TestSend_boundsMemoryUnderHostileResponses(t *testing.T) { // not parallel, because it measures the whole process
	const timeout = 500 * time.Millisecond
	faults := []faultserver.Fault{
		faultserver.Hang(), faultserver.SlowHeaders(timeout / 10), faultserver.SlowBody(timeout / 10), faultserver.HugeBody(10e9),
		faultserver.GzipBomb(), faultserver.HugeHeaders(1 << 20), faultserver.ManyHeaders(1 << 17), faultserver.EndlessInformational(),
	}
	server := faultserver.New(t, slices.Repeat(faults, 8)...)
	s := newSender(t, sender.Config{Timeout: timeout})
	m := message(server.URL())
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var work sync.WaitGroup
	for range 64 {
		work.Go(func() { s.Send(t.Context(), m) })
	}
	work.Wait()
	runtime.ReadMemStats(&after)
	if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown >= 64 {
		t.Errorf("%d MiB allocated", grown)
	}
}

const endless = "HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n"

// Whatever the receiver does, an attempt ends by its deadline, or at once if there is nothing to wait for,
// with the right failure.
func TestSend_endsByTheDeadline(t *testing.T) {
	t.Parallel()
	const deadline = 15 * time.Second
	tests := []struct {
		name   string
		fault  faultserver.Fault
		status int
		want   sender.Failure
		waits  bool // until the deadline
	}{
		{"accepts and never answers", faultserver.Hang(), 0, sender.FailureTimeout, true},
		{"never reads", faultserver.Stall(), 0, sender.FailureTimeout, true},
		{"200 after the deadline", faultserver.Late(deadline + time.Nanosecond), 0, sender.FailureTimeout, true},
		{"half a status line", faultserver.Raw("HTTP/1.1 20"), 0, sender.FailureTimeout, true},
		{"headers that drip", faultserver.SlowHeaders(time.Second), 0, sender.FailureTimeout, true},
		{"informational for ever", faultserver.EndlessInformational(), 0, sender.FailureProtocol, false},
		{"1 MB of headers", faultserver.HugeHeaders(1 << 20), 0, sender.FailureProtocol, false},
		{"1 MB in many headers", faultserver.ManyHeaders(1 << 17), 0, sender.FailureProtocol, false},
		{"20 KB in many headers", faultserver.Raw("HTTP/1.1 200 OK\r\n" + strings.Repeat("X:\r\n", 5<<10) + "\r\n"), 0, sender.FailureProtocol, false},
		{"no status", faultserver.Raw("HTTP/1.1 099 OK\r\n\r\n"), 0, sender.FailureProtocol, false},
		{"broken status line", faultserver.Raw("HTTP/1.1 OK 200\r\n\r\n"), 0, sender.FailureProtocol, false},
		{"not HTTP", faultserver.Raw("220 smtp.example ESMTP\r\n"), 0, sender.FailureProtocol, false},
		{"two lengths", faultserver.Raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), 0, sender.FailureProtocol, false},
		{"headers break off", faultserver.Cut("HTTP/1.1 200 OK\r\nX: "), 0, sender.FailureProtocol, false},
		{"closes at once", faultserver.ResetMidRequest(), 0, sender.FailureReset, false},
		{"closes after reading", faultserver.Cut(""), 0, sender.FailureReset, false},
		{"other protocol", faultserver.Raw("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"), 101, sender.FailureStatus, false},
		{"500 and a body that stalls", faultserver.Raw("HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\nx"), 500, sender.FailureStatus, true},

		// The status is decisive, whatever follows it.
		{"200 and a body that stalls", faultserver.Raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), 200, "", true},
		{"200 and a body that drips", faultserver.SlowBody(time.Second), 200, "", true},
		{"200 and an endless body", faultserver.HugeBody(10e9), 200, "", false},
		{"200 and a body that breaks off", faultserver.Cut(endless + "x"), 200, "", false},
		{"200 and gzip", faultserver.GzipBomb(), 200, "", false},
		{"200 and broken chunks", faultserver.Raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), 200, "", false},
	}
	for _, tt := range tests {
		m := message("http://127.0.0.1/?token=topsecret")
		m.Body = bytes.Repeat([]byte("x"), 64<<10) // more than the buffers of a pipe hold
		attempt := attemptAt(t, tt.fault, sender.Config{}, m)
		if attempt.Status != tt.status || attempt.Failure != tt.want || attempt.Delivered() != (tt.want == "") || attempt.Address == "" {
			t.Errorf("%s: %+v", tt.name, attempt)
		}
		gzip := bytes.HasPrefix(attempt.Excerpt, []byte{0x1f, 0x8b}) // is not decompressed
		if tt.waits != (attempt.Duration == deadline) || attempt.Duration > deadline || len(attempt.Excerpt) > 4<<10 || gzip != strings.HasSuffix(tt.name, "gzip") {
			t.Errorf("%s took %v, kept %d bytes", tt.name, attempt.Duration, len(attempt.Excerpt))
		}
	}
}
