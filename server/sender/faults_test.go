package sender_test

import (
	"fmt"
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
		{"200 by HTTP/1.0", faultserver.HTTP10(), 200, "", 0, 2, 2},
		{"429", faultserver.RetryAfter(429, "90"), 429, sender.FailureStatus, 0, 2, 1},
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
				if attempt.Status != tt.status || attempt.Failure != tt.want || attempt.Address != server.Address() || attempt.Duration < tt.timeout {
					t.Errorf("%+v", attempt)
				}
				if (attempt.RetryAfter == 90*time.Second) != (tt.status == 429) {
					t.Errorf("retry after %v", attempt.RetryAfter)
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

// If the receiver closes the connection between two requests, at most one attempt fails, and no attempt sends
// the event twice.
func TestSend_failsOnceOnAClosedConnection(t *testing.T) {
	t.Parallel()
	const attempts = 10
	server := faultserver.New(t, faultserver.CloseBetween())
	s := newSender(t, sender.Config{})
	delivered := 0
	for range attempts {
		attempt := s.Send(t.Context(), message(server.URL()))
		if attempt.Delivered() {
			delivered++
		} else if attempt.Failure != sender.FailureReset {
			t.Errorf("%+v", attempt)
		}
	}
	if server.Count() != delivered || delivered == 0 {
		t.Errorf("%d requests arrived, %d were delivered", server.Count(), delivered)
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
	grown := (after.TotalAlloc - before.TotalAlloc) >> 20
	t.Logf("%d MiB allocated", grown)
	if grown >= 64 {
		t.Errorf("%d MiB allocated", grown)
	}
}
