package sender_test

import (
	"context"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/api/tools/harness/faultserver"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/dnstest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// TestMain sets the proxy in the environment to a port without a listener. net/http reads the environment
// once per process, so TestMain sets it before any test. The settings of package net are read early too,
// because net creates a channel that must not belong to a bubble of testing/synctest.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		_ = os.Setenv(name, "http://127.0.0.1:9")
	}
	_, _ = (&net.Resolver{PreferGo: true}).LookupHost(context.Background(), "localhost")
	goleak.VerifyTestMain(m)
}

// newSender returns a Sender with cfg that may also send http requests to 127.0.0.1.
func newSender(tb testing.TB, cfg sender.Config) *sender.Sender {
	tb.Helper()
	cfg.AllowHTTP = true
	if cfg.AllowNetworks == nil {
		cfg.AllowNetworks = networks("127.0.0.1/32")
	}
	s := harness.Try(sender.New(cfg))(tb)
	tb.Cleanup(s.Close)
	return s
}

func message(url string) sender.Message {
	return sender.Message{
		URL: url, ID: "evt_1", Sequence: 7,
		Body:    []byte(`{"event_type":"video.completed"}`),
		Secrets: []webhook.Secret{webhook.NewSecret()},
	}
}

// attemptAt makes one attempt at a receiver behind a pipe, on a synthetic clock. It fails the test if the
// sender reads more of a response than its limits and one buffer.
func attemptAt(t *testing.T, fault faultserver.Fault, cfg sender.Config, m sender.Message) (attempt sender.Attempt) {
	t.Helper()
	var read atomic.Int64
	synctest.Test(t, func(t *testing.T) {
		pipe := faultserver.NewPipe()
		faultserver.NewAt(t, pipe, fault)
		s := newSender(t, cfg)
		s.DialWith(func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := pipe.DialContext(ctx, network, address)
			return countedConn{conn, &read}, err
		})
		attempt = s.Send(t.Context(), m)
	})
	if read.Load() > (64+64+4)<<10 {
		t.Errorf("read %d bytes", read.Load())
	}
	return attempt
}

// countedConn counts the bytes read.
type countedConn struct {
	net.Conn
	read *atomic.Int64
}

func (c countedConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	c.read.Add(int64(n))
	return n, err
}

func listen(tb testing.TB, address string) net.Listener {
	tb.Helper()
	return harness.Try(net.Listen("tcp", address))(tb)
}

// forbidDials fails the test if anything has connected to listener by the end of the test.
func forbidDials(tb testing.TB, listener net.Listener) {
	tb.Helper()
	server := faultserver.NewAt(tb, listener)
	tb.Cleanup(func() {
		if n := server.Connections(); n != 0 {
			tb.Errorf("%d connections reached %s", n, server.Address())
		}
	})
}

// resolver returns a resolver with its own DNS server. See dnstest.Serve for lookup.
func resolver(tb testing.TB, lookup func(name string) []string) *net.Resolver {
	tb.Helper()
	server := dnstest.Serve(tb, lookup)
	return &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", server)
		},
	}
}

// always returns a lookup with a single name.
func always(name string, addresses ...string) func(string) []string {
	return func(asked string) []string {
		if asked != name {
			return nil
		}
		return addresses
	}
}
