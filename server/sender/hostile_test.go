package sender_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness/faultserver"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

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
		{"broken status line", faultserver.BrokenStatusLine(), 0, sender.FailureProtocol, false},
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
		{"200 and broken chunks", faultserver.Raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), 200, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := message("http://127.0.0.1/?token=topsecret")
			m.Body = bytes.Repeat([]byte("x"), 64<<10) // more than the buffers of a pipe hold
			attempt := attemptAt(t, tt.fault, sender.Config{}, m)
			if attempt.Status != tt.status || attempt.Failure != tt.want || attempt.Delivered() != (tt.want == "") || attempt.Address == "" {
				t.Errorf("%+v", attempt)
			}
			if tt.waits != (attempt.Duration == deadline) || attempt.Duration > deadline || len(attempt.Excerpt) > 4<<10 {
				t.Errorf("took %v, kept %d bytes", attempt.Duration, len(attempt.Excerpt))
			}
		})
	}
}

// A sender requests uncompressed responses and decompresses none.
func TestSend_neverDecompresses(t *testing.T) {
	t.Parallel()
	server := faultserver.New(t, faultserver.GzipBomb())
	attempt := newSender(t, sender.Config{}).Send(t.Context(), message(server.URL()))
	if !attempt.Delivered() || len(attempt.Excerpt) != 4<<10 || !bytes.HasPrefix(attempt.Excerpt, []byte{0x1f, 0x8b}) {
		t.Errorf("status %d, kept %d bytes", attempt.Status, len(attempt.Excerpt))
	}
	if asked := server.Received()[0].Header.Values("Accept-Encoding"); !slices.Equal(asked, []string{"identity"}) {
		t.Errorf("asked for %q", asked)
	}
}
