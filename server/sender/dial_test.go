package sender_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/api/tools/harness/faultserver"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

func networks(prefixes ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, len(prefixes))
	for i, prefix := range prefixes {
		parsed[i] = netip.MustParsePrefix(prefix)
	}
	return parsed
}

// listenOnBoth listens on both hosts at the same port. It skips the test if this machine has no such host.
func listenOnBoth(t *testing.T, first, second string) (net.Listener, net.Listener) {
	t.Helper()
	for range 20 {
		one, err := net.Listen("tcp", net.JoinHostPort(first, "0"))
		if err != nil {
			t.Skip(err)
		}
		_, port, _ := net.SplitHostPort(one.Addr().String())
		two, err := net.Listen("tcp", net.JoinHostPort(second, port))
		if err == nil {
			return one, two
		}
		_ = one.Close()
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Skip(err)
		}
	}
	t.Fatal("no port is free on both hosts")
	return nil, nil
}

func portOf(listener net.Listener) string {
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

// A name that resolves to a private address is blocked when it is dialed, although it is accepted at
// registration. The result is that of a name that does not exist.
func TestSend_blocksANameWithAPrivateAddress(t *testing.T) {
	t.Parallel()
	inside := listen(t, "127.0.0.1:0")
	forbidDials(t, inside)
	for _, address := range []string{"127.0.0.1", "::ffff:127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "fe80::1", "0.0.0.0", "::"} {
		s := newSender(t, sender.Config{
			AllowNetworks: networks("127.9.9.9/32"),
			Resolver:      resolver(t, always("hook.test", address)),
		})
		m := message("http://hook.test:" + portOf(inside))
		harness.Try(s.CanonicalURL(m.URL))(t)
		if attempt := s.Send(t.Context(), m); attempt.Failure != sender.FailureDNS || attempt.Address != "" || !attempt.NotPublic {
			t.Errorf("%s: %+v", address, attempt)
		}
		_, fetchErr := s.Fetch(t.Context(), m.URL)
		_, absentErr := s.Fetch(t.Context(), "http://absent.test/")
		for _, err := range []error{fetchErr, absentErr} {
			if found, ok := errors.AsType[*net.DNSError](err); !ok || !found.IsNotFound {
				t.Errorf("%s: error %v, want that of an absent name", address, err)
			}
		}
	}
}

// A name that first resolves to a public and then to a private address is checked each time. 127.0.0.2
// represents a public address.
func TestSend_blocksDNSRebinding(t *testing.T) {
	t.Parallel()
	outside, inside := listenOnBoth(t, "127.0.0.2", "127.0.0.1")
	faultserver.NewAt(t, outside, faultserver.Respond(http.StatusOK, http.Header{"Connection": {"close"}}, ""))
	forbidDials(t, inside)
	var address atomic.Value
	address.Store("127.0.0.2")
	s := newSender(t, sender.Config{
		AllowNetworks: networks("127.0.0.2/32"),
		Resolver:      resolver(t, func(string) []string { return []string{address.Load().(string)} }),
	})
	m := message("http://hook.test:" + portOf(outside))
	if attempt := s.Send(t.Context(), m); !attempt.Delivered() {
		t.Errorf("outside: %+v", attempt)
	}
	_ = harness.Try(s.Fetch(t.Context(), m.URL))(t).Body.Close()
	address.Store("127.0.0.1")
	if attempt := s.Send(t.Context(), m); attempt.Failure != sender.FailureDNS || !attempt.NotPublic {
		t.Errorf("inside: %+v", attempt)
	}
	if response, err := s.Fetch(t.Context(), m.URL); err == nil {
		t.Errorf("inside: %s", response.Status)
		_ = response.Body.Close()
	}
}

// If a name has public and private addresses, only the public ones are dialed, even if they accept no
// connection.
func TestSend_dialsPublicAddressesOnly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, public, private string }{
		{"both v4", "127.0.0.2", "127.0.0.1"},
		{"private v6", "127.0.0.2", "::1"},
		{"private v4", "::1", "127.0.0.1"},
	} {
		for _, order := range [][]string{{tt.public, tt.private}, {tt.private, tt.public}} {
			t.Run(tt.name+", "+order[0]+" first", func(t *testing.T) {
				t.Parallel()
				outside, inside := listenOnBoth(t, tt.public, tt.private)
				forbidDials(t, inside)
				s := newSender(t, sender.Config{
					AllowNetworks: []netip.Prefix{netip.PrefixFrom(netip.MustParseAddr(tt.public), netip.MustParseAddr(tt.public).BitLen())},
					Resolver:      resolver(t, always("hook.test", order...)),
				})
				server := faultserver.NewAt(t, outside)
				m := message("http://hook.test:" + portOf(outside))
				if attempt := s.Send(t.Context(), m); !attempt.Delivered() || attempt.Address != server.Address() {
					t.Errorf("%+v", attempt)
				}
				server.Close()
				s.Close()
				if attempt := s.Send(t.Context(), m); attempt.Failure != sender.FailureConnect && attempt.Failure != sender.FailureDNS {
					t.Errorf("public one down: %+v", attempt)
				}
			})
		}
	}
}

// A DNS server that never responds delays an attempt only until the limit of connecting.
func TestSend_limitsDNSLookups(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ timeout, want time.Duration }{{15 * time.Second, 5 * time.Second}, {3 * time.Second, 3 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			slow := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go func() { _, _ = io.Copy(io.Discard, theirs) }()
				return ours, nil
			}}
			s := newSender(t, sender.Config{Resolver: slow, Timeout: tt.timeout})
			attempt := s.Send(t.Context(), message("http://hook.test/"))
			if attempt.Failure != sender.FailureTimeout || attempt.Duration != tt.want || attempt.Address != "" {
				t.Errorf("%+v", attempt)
			}
			<-time.After(time.Minute) // the resolver finishes its queries in the background
		})
	}
}

func TestSend_reportsConnectFailures(t *testing.T) {
	t.Parallel()
	known := resolver(t, always("hook.test", "127.0.0.1"))
	for _, tt := range []struct {
		name    string
		cfg     sender.Config
		url     string
		address string
		want    sender.Failure
	}{
		// A port that was closed may be opened by another test, but this one is never given out.
		{"refused", sender.Config{}, "http://127.0.0.1:1/", "127.0.0.1:1", sender.FailureConnect},
		{"no such name", sender.Config{Resolver: known}, "http://other.test/", "", sender.FailureDNS},
		{"no address", sender.Config{Resolver: resolver(t, func(string) []string { return []string{} })}, "http://hook.test/", "", sender.FailureDNS},
		{"refused URL", sender.Config{}, "http://10.0.0.1/", "", sender.FailureBlocked},
	} {
		attempt := newSender(t, tt.cfg).Send(t.Context(), message(tt.url))
		if attempt.Failure != tt.want || attempt.Address != tt.address || attempt.Status != 0 {
			t.Errorf("%s: %+v", tt.name, attempt)
		}
	}
}

// serveTLS starts a receiver for example.com and 127.0.0.1 that offers HTTP/2. It returns the authority of its
// certificate, which cfg may replace.
func serveTLS(t *testing.T, cfg *tls.Config) (*httptest.Server, *x509.CertPool) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 {
			t.Errorf("spoke %s", r.Proto)
		}
	}))
	server.EnableHTTP2, server.TLS, server.Config.ErrorLog = true, cfg, log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return server, roots
}

func TestSend_reportsTLSFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		host  string
		cfg   *tls.Config
		trust bool
		want  sender.Failure
	}{
		{"trusted, with HTTP/1.1 where HTTP/2 is offered", "example.com", nil, true, ""},
		{"trailing dot", "example.com.", nil, true, ""},
		{"unknown authority", "example.com", nil, false, sender.FailureTLS},
		{"wrong host", "other.test", nil, true, sender.FailureTLS},
		{"old version", "example.com", &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, true, sender.FailureTLS},
	} {
		server, roots := serveTLS(t, tt.cfg)
		cfg := sender.Config{Resolver: resolver(t, func(string) []string { return []string{"127.0.0.1"} })}
		if tt.trust {
			cfg.RootCAs = roots
		}
		attempt := newSender(t, cfg).Send(t.Context(), message(strings.Replace(server.URL, "127.0.0.1", tt.host, 1)))
		if attempt.Failure != tt.want || attempt.Delivered() != (tt.want == "") || attempt.Address != server.Listener.Addr().String() {
			t.Errorf("%s: %+v", tt.name, attempt)
		}
	}
}

func TestSend_limitsTheTLSHandshake(t *testing.T) {
	t.Parallel()
	reads := func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }
	for _, tt := range []struct {
		name     string
		timeout  time.Duration
		receiver func(net.Conn)
		want     sender.Failure
		took     time.Duration
	}{
		{"closes", 0, func(conn net.Conn) { _ = conn.Close() }, sender.FailureTLS, 0},
		{"speaks plain HTTP", 0, func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 64<<10))
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
		}, sender.FailureTLS, 0},
		{"stalls", 0, reads, sender.FailureTimeout, 5 * time.Second},
		{"stalls past the deadline", 3 * time.Second, reads, sender.FailureTimeout, 3 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSender(t, sender.Config{Timeout: tt.timeout})
			s.DialWith(func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go tt.receiver(theirs)
				return ours, nil
			})
			attempt := s.Send(t.Context(), message("https://127.0.0.1/"))
			if attempt.Failure != tt.want || attempt.Duration != tt.took || attempt.Status != 0 {
				t.Errorf("%s: %+v", tt.name, attempt)
			}
		})
	}
}
