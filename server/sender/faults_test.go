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
	// On a busy machine, an attempt needs some of short before the fault. It ends long before the default timeout.
	const short, late = 2 * time.Second, 10 * time.Second
	tests := []struct {
		name       string
		fault      faultserver.Fault
		status     int
		want       sender.Failure
		retryAfter time.Duration
		timeout    time.Duration // 0 if the fault does not wait
		reuse      bool
	}{
		{name: "200 by HTTP/1.0", fault: faultserver.HTTP10(), status: 200},
		{name: "429, seconds", fault: faultserver.RetryAfter(429, "90"), status: 429, want: sender.FailureStatus, retryAfter: 90 * time.Second, reuse: true},

		{name: "never reads the body", fault: faultserver.Stall(), want: sender.FailureTimeout, timeout: short},
		{name: "headers, then a byte at a time", fault: faultserver.SlowBody(short / 10), status: 200, timeout: short},
		{name: "10 GB body", fault: faultserver.HugeBody(10e9), status: 200},
		{name: "1 MB of headers", fault: faultserver.HugeHeaders(1 << 20), want: sender.FailureProtocol},
		{name: "informational for ever", fault: faultserver.EndlessInformational(), want: sender.FailureProtocol},
		{name: "broken status line", fault: faultserver.BrokenStatusLine(), want: sender.FailureProtocol},
		{name: "reset mid-request", fault: faultserver.ResetMidRequest(), want: sender.FailureReset},
		{name: "reset after the body", fault: faultserver.ResetAfterBody(), want: sender.FailureReset},
		{name: "closed after the body", fault: faultserver.Cut(""), want: sender.FailureReset},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := faultserver.New(t, tt.fault)
			s := newSender(t, sender.Config{Timeout: tt.timeout})
			m := message(server.URL() + "/?token=topsecret")
			attempts, connections := 2, 2
			if tt.timeout > 0 {
				attempts = 1
			}
			if tt.reuse || tt.timeout > 0 {
				connections = 1
			}
			for range attempts {
				attempt := s.Send(t.Context(), m)
				if attempt.Status != tt.status || attempt.Failure != tt.want || attempt.RetryAfter != tt.retryAfter || attempt.Address != server.Address() {
					t.Errorf("%+v", attempt)
				}
				if tt.timeout > 0 && (attempt.Duration < tt.timeout || attempt.Duration > late) {
					t.Errorf("took %v", attempt.Duration)
				}
				checkNoSecrets(t, attempt, m)
			}
			received := server.Received()
			if len(received) != attempts || server.Connections() != connections {
				t.Fatalf("%d requests on %d connections, want %d", len(received), server.Connections(), connections)
			}
			for _, r := range received {
				if r.Header.Get("Webhook-Id") != m.ID || r.Body != nil && string(r.Body) != string(m.Body) {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// checkNoSecrets checks that an attempt contains no confidential part of the message, except in its excerpt.
func checkNoSecrets(t *testing.T, attempt sender.Attempt, m sender.Message) {
	t.Helper()
	attempt.Excerpt = nil
	text := fmt.Sprintf("%+v", attempt)
	for _, secret := range []string{"topsecret", string(m.Body)} {
		if strings.Contains(text, secret) {
			t.Errorf("%s holds %q", text, secret)
		}
	}
}

// If the receiver closes the connection between two requests, at most one attempt fails, and no attempt sends
// the event twice.
func TestSend_failsOnceOnAClosedConnection(t *testing.T) {
	t.Parallel()
	const attempts = 50
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

// 64 hostile responses at once end by the deadline, and all allocations in the meantime, including those of
// the receiver, are below 64 MiB.
func TestSend_boundsMemoryUnderHostileResponses(t *testing.T) { // not parallel, because it measures the whole process
	const timeout, late = 500 * time.Millisecond, 10 * time.Second // before the default timeout
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
		work.Go(func() {
			if attempt := s.Send(t.Context(), m); attempt.Duration > late {
				t.Errorf("%+v", attempt)
			}
		})
	}
	work.Wait()
	runtime.ReadMemStats(&after)
	grown := (after.TotalAlloc - before.TotalAlloc) >> 20
	t.Logf("%d MiB allocated", grown)
	if grown >= 64 {
		t.Errorf("%d MiB allocated", grown)
	}
}
