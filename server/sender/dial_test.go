package sender_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math/big"
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

	"github.com/avatarstudio/avatarstudio/server/sender"
)

func networks(prefixes ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, len(prefixes))
	for i, prefix := range prefixes {
		parsed[i] = netip.MustParsePrefix(prefix)
	}
	return parsed
}

// twins listens on both hosts at one port. A host that this machine lacks skips the test.
func twins(t *testing.T, first, second string) (net.Listener, net.Listener) {
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

func ok(conn net.Conn) {
	answers("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")(conn)
}

func portOf(listener net.Listener) string {
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

// A name that leads inside is refused when dialled, though it is fine at registration.
func TestSend_NameLeadsInside(t *testing.T) {
	t.Parallel()
	inside := listen(t, "127.0.0.1:0")
	forbid(t, inside)
	for _, address := range []string{"127.0.0.1", "::ffff:127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "fe80::1", "0.0.0.0", "::"} {
		s := newSender(t, sender.Config{
			AllowNetworks: networks("127.9.9.9/32"),
			Resolver:      resolver(t, always("hook.test", address)),
		})
		m := message("http://hook.test:" + portOf(inside))
		if err := s.CheckURL(m.URL); err != nil {
			t.Error(err)
		}
		attempt := s.Send(t.Context(), m)
		if attempt.Failure != sender.FailureBlocked || attempt.Address != "" {
			t.Errorf("%s: %+v", address, attempt)
		}
	}
}

// A name that first leads outside and then inside is judged each time. 127.0.0.2 stands
// for a public address.
func TestSend_Rebinding(t *testing.T) {
	t.Parallel()
	outside, inside := twins(t, "127.0.0.2", "127.0.0.1")
	serveAt(t, outside, ok)
	forbid(t, inside)
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
	address.Store("127.0.0.1")
	if attempt := s.Send(t.Context(), m); attempt.Failure != sender.FailureBlocked {
		t.Errorf("inside: %+v", attempt)
	}
}

// Of a name with public and private addresses only the public ones are ever dialled,
// also when the public one takes no connection.
func TestSend_MixedAddresses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, public, private string }{
		{"both v4", "127.0.0.2", "127.0.0.1"},
		{"private v6", "127.0.0.2", "::1"},
		{"private v4", "::1", "127.0.0.1"},
	} {
		for _, order := range [][]string{{tt.public, tt.private}, {tt.private, tt.public}} {
			t.Run(tt.name+", "+order[0]+" first", func(t *testing.T) {
				t.Parallel()
				outside, inside := twins(t, tt.public, tt.private)
				forbid(t, inside)
				s := newSender(t, sender.Config{
					AllowNetworks: []netip.Prefix{netip.PrefixFrom(netip.MustParseAddr(tt.public), netip.MustParseAddr(tt.public).BitLen())},
					Resolver:      resolver(t, always("hook.test", order...)),
				})
				serving := outside.Addr().String()
				m := message("http://hook.test:" + portOf(outside))
				closed := make(chan struct{})
				serveAt(t, outside, func(conn net.Conn) { ok(conn); close(closed) })
				if attempt := s.Send(t.Context(), m); !attempt.Delivered() || attempt.Address != serving {
					t.Errorf("%+v", attempt)
				}
				<-closed
				_ = outside.Close()
				attempt := s.Send(t.Context(), m)
				if attempt.Failure != sender.FailureConnect && attempt.Failure != sender.FailureBlocked {
					t.Errorf("public one down: %+v", attempt)
				}
			})
		}
	}
}

// A name server that never answers costs no more than the time to connect.
func TestSend_SlowDNS(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ timeout, want time.Duration }{{15 * time.Second, 5 * time.Second}, {3 * time.Second, 3 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			slow := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go hold(theirs)
				return ours, nil
			}}
			s := newSender(t, sender.Config{Resolver: slow, Timeout: tt.timeout})
			attempt := s.Send(t.Context(), message("http://hook.test/"))
			if attempt.Failure != sender.FailureTimeout || attempt.Duration != tt.want || attempt.Address != "" {
				t.Errorf("%+v", attempt)
			}
			<-time.After(time.Minute) // the resolver ends what it began in its own time
		})
	}
}

func TestSend_NoConnection(t *testing.T) {
	t.Parallel()
	listener := listen(t, "127.0.0.1:0")
	_ = listener.Close()
	known := resolver(t, always("hook.test", "127.0.0.1"))
	for _, tt := range []struct {
		name    string
		cfg     sender.Config
		url     string
		address string
		want    sender.Failure
	}{
		{"refused", sender.Config{}, "http://" + listener.Addr().String(), listener.Addr().String(), sender.FailureConnect},
		{"no such name", sender.Config{Resolver: known}, "http://other.test/", "", sender.FailureDNS},
		{"no address", sender.Config{Resolver: resolver(t, func(string) []string { return []string{} })}, "http://hook.test/", "", sender.FailureDNS},
		{"refused URL", sender.Config{}, "http://10.0.0.1/", "", sender.FailureBlocked},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			attempt := newSender(t, tt.cfg).Send(t.Context(), message(tt.url))
			if attempt.Failure != tt.want || attempt.Address != tt.address || attempt.Status != 0 {
				t.Errorf("%+v", attempt)
			}
		})
	}
}

// certificate makes a self-signed certificate for hook.test.
func certificate(t *testing.T, expires time.Time) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"hook.test"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: expires,
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestSend_TLS(t *testing.T) {
	t.Parallel()
	tomorrow, yesterday := time.Now().Add(24*time.Hour), time.Now().Add(-24*time.Hour)
	for _, tt := range []struct {
		name    string
		host    string
		expires time.Time
		trust   bool
		version uint16
		want    sender.Failure
	}{
		{"trusted", "hook.test", tomorrow, true, 0, ""},
		{"trailing dot", "hook.test.", tomorrow, true, 0, ""},
		{"self-signed", "hook.test", tomorrow, false, 0, sender.FailureTLS},
		{"wrong host", "other.test", tomorrow, true, 0, sender.FailureTLS},
		{"expired", "hook.test", yesterday, true, 0, sender.FailureTLS},
		{"old version", "hook.test", tomorrow, true, tls.VersionTLS11, sender.FailureTLS},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cert, pool := certificate(t, tt.expires)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor != 1 {
					t.Errorf("spoke %s", r.Proto)
				}
			}))
			server.EnableHTTP2 = true
			server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS10, MaxVersion: tt.version}
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.StartTLS()
			t.Cleanup(server.Close)
			cfg := sender.Config{Resolver: resolver(t, func(string) []string { return []string{"127.0.0.1"} })}
			if tt.trust {
				cfg.RootCAs = pool
			}
			target := strings.Replace(server.URL, "127.0.0.1", tt.host, 1)
			attempt := newSender(t, cfg).Send(t.Context(), message(target))
			if attempt.Failure != tt.want || attempt.Delivered() != (tt.want == "") || attempt.Address != server.Listener.Addr().String() {
				t.Errorf("%+v", attempt)
			}
		})
	}
}

func TestSend_TLSHandshake(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		timeout time.Duration
		serve   func(net.Conn)
		want    sender.Failure
		took    time.Duration
	}{
		{"closes", 0, func(net.Conn) {}, sender.FailureTLS, 0},
		{"speaks plain HTTP", 0, func(conn net.Conn) {
			go hold(conn)
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
		}, sender.FailureTLS, 0},
		{"stalls", 0, hold, sender.FailureTimeout, 5 * time.Second},
		{"stalls past the deadline", 3 * time.Second, hold, sender.FailureTimeout, 3 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			attempt := attemptAt(t, tt.serve, sender.Config{Timeout: tt.timeout}, "https://127.0.0.1/")
			if attempt.Failure != tt.want || attempt.Duration != tt.took || attempt.Status != 0 {
				t.Errorf("%+v", attempt)
			}
		})
	}
}
