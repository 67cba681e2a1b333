package faultserver_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/api/tools/harness/faultserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func always(fault faultserver.Fault) faultserver.Config {
	return faultserver.Config{Script: faultserver.InOrder(fault)}
}

// client returns a client that trusts the server and follows no redirects.
func client(t *testing.T, server *faultserver.Server) *http.Client {
	t.Helper()
	transport := &http.Transport{DisableCompression: true}
	if roots := server.RootCAs(); roots != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func post(t *testing.T, c *http.Client, url, body string) (*http.Response, error) {
	t.Helper()
	response, err := c.Post(url, "application/json", strings.NewReader(body))
	if err == nil {
		t.Cleanup(func() { _ = response.Body.Close() })
	}
	return response, err
}

// Well-formed responses reach the client as scripted.
func TestFault_sendsWellFormedResponses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault  faultserver.Fault
		status int
		header string // name: value
		body   string
	}{
		"zero value":  {faultserver.Fault{}, 200, "Content-Length: 0", ""},
		"status":      {faultserver.Status(503), 503, "Content-Length: 0", ""},
		"no content":  {faultserver.Respond(204, nil, "ignored"), 204, "Content-Length: ", ""},
		"answer":      {faultserver.Respond(404, http.Header{"X-Why": {"gone"}}, "no such hook"), 404, "X-Why: gone", "no such hook"},
		"retry after": {faultserver.RetryAfter(429, "-1"), 429, "Retry-After: -1", ""},
		"redirect":    {faultserver.Redirect(307, "http://127.0.0.1/"), 307, "Location: http://127.0.0.1/", ""},
		"late":        {faultserver.Late(time.Nanosecond), 200, "Content-Length: 0", ""},
		"HTTP/1.0":    {faultserver.HTTP10(), 200, "Content-Length: ", "ok"},
		"huge body":   {faultserver.HugeBody(100_000), 200, "Content-Length: 100000", strings.Repeat("x", 100_000)},
	} {
		for _, mode := range []faultserver.TLS{faultserver.Plain, faultserver.Trusted} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				cfg := always(tt.fault)
				cfg.TLS = mode
				server := faultserver.New(t, cfg)
				response, err := post(t, client(t, server), server.URL(), "{}")
				harness.Check(t, err)
				body, err := io.ReadAll(response.Body)
				header, value, _ := strings.Cut(tt.header, ": ")
				if err != nil || response.StatusCode != tt.status || response.Header.Get(header) != value || string(body) != tt.body {
					t.Errorf("%d %v, %d bytes, %v", response.StatusCode, response.Header, len(body), err)
				}
			})
		}
	}
}

// A reset sends RST and not FIN, before and after the body, with and without TLS.
func TestFault_sendsRST(t *testing.T) {
	t.Parallel()
	for _, mode := range []faultserver.TLS{faultserver.Plain, faultserver.Trusted} {
		for number, fault := range []faultserver.Fault{faultserver.ResetMidRequest(), faultserver.ResetAfterBody()} {
			cfg := always(fault)
			cfg.TLS = mode
			server := faultserver.New(t, cfg)
			if _, err := post(t, client(t, server), server.URL(), "{}"); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("fault %d, TLS %d: %v", number, mode, err)
			}
			if received := server.Received(); len(received) != 1 || string(received[0].Body) != []string{"", "{}"}[number] {
				t.Errorf("fault %d, TLS %d: %v", number, mode, received)
			}
		}
	}
}

// The bomb is a single gzip stream that decompresses to a thousand times its size.
func TestFault_gzipBombDecompressesAThousandfold(t *testing.T) {
	t.Parallel()
	server := faultserver.New(t, always(faultserver.GzipBomb()))
	response, err := post(t, client(t, server), server.URL(), "{}")
	harness.Check(t, err)
	inflated, err := gzip.NewReader(response.Body)
	harness.Check(t, err)
	n, err := io.CopyN(io.Discard, inflated, 16<<20)
	if response.ContentLength < 10_000_000 || response.ContentLength > 12_000_000 || n != 16<<20 {
		t.Errorf("%d bytes become %d: %v", response.ContentLength, n, err)
	}
}

// Each TLS mode fails as documented for a client that trusts the authority of the server.
func TestTLS_failsAsDocumented(t *testing.T) {
	t.Parallel()
	for mode, want := range map[faultserver.TLS]bool{
		faultserver.Trusted: true, faultserver.SelfSigned: false, faultserver.Expired: false,
		faultserver.WrongHost: false, faultserver.OldVersion: false, faultserver.HandshakeClose: false, faultserver.HandshakeHTTP: false,
	} {
		server := faultserver.New(t, faultserver.Config{TLS: mode})
		if _, err := post(t, client(t, server), server.URL(), "{}"); (err == nil) != want {
			t.Errorf("TLS %d: %v", mode, err)
		}
		if server.Count() > 0 != want || server.Connections() != 1 {
			t.Errorf("TLS %d: %d requests on %d connections", mode, server.Count(), server.Connections())
		}
	}
}

// Received returns the first requests unchanged and numbered. Count counts all requests.
func TestReceived_keepsTheFirstRequests(t *testing.T) {
	t.Parallel()
	for keep, want := range map[int]int{0: 3, 2: 2, -1: 0} {
		var seen atomic.Int32
		server := faultserver.New(t, faultserver.Config{Keep: keep, OnRequest: func(r faultserver.Request) {
			seen.Add(int32(r.Number))
		}})
		c := client(t, server)
		for _, path := range []string{"/a?b=1", "/a", "/c"} {
			if _, err := post(t, c, server.URL()+path, path); err != nil {
				t.Fatal(err)
			}
		}
		received := server.Received()
		if len(received) != want || server.Count() != 3 || seen.Load() != 1+2+3 {
			t.Fatalf("keep %d: %d kept of %d, hook %d", keep, len(received), server.Count(), seen.Load())
		}
		if want == 0 {
			continue
		}
		first := received[0]
		if first.Number != 1 || first.Connection != 1 || first.At.IsZero() || first.Method != http.MethodPost || first.URL.String() != "/a?b=1" ||
			first.Host != server.Address() || first.Proto != "HTTP/1.1" || string(first.Body) != "/a?b=1" || first.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%+v", first)
		}
	}
}

// A body over 1 MiB is read completely but only partly kept.
func TestReceived_keepsOneMiBOfABody(t *testing.T) {
	t.Parallel()
	server := faultserver.New(t, faultserver.Config{})
	if _, err := post(t, client(t, server), server.URL(), strings.Repeat("x", 3<<20)); err != nil {
		t.Fatal(err)
	}
	if got := len(server.Received()[0].Body); got != 1<<20 {
		t.Errorf("kept %d bytes", got)
	}
}

func TestByPath_selectsAScriptByPath(t *testing.T) {
	t.Parallel()
	server := faultserver.New(t, faultserver.Config{Script: faultserver.ByPath(map[string]faultserver.Script{
		"/a": faultserver.InOrder(faultserver.Status(500), faultserver.Status(202)),
		"/b": faultserver.InOrder(),
	})})
	c := client(t, server)
	for _, step := range []struct {
		path string
		want int
	}{{"/a", 500}, {"/b", 200}, {"/a?x", 202}, {"/a", 202}, {"/c", 404}} {
		response, err := post(t, c, server.URL()+step.path, "")
		if err != nil || response.StatusCode != step.want {
			t.Errorf("%s: %v, %v", step.path, response, err)
		}
	}
	if server.Connections() != 1 {
		t.Errorf("%d connections", server.Connections())
	}
}

// Wait returns at the nth request, when its context ends, and when the server is closed.
func TestWait_endsWithRequestsContextOrServer(t *testing.T) {
	t.Parallel()
	server := faultserver.New(t, faultserver.Config{})
	c := client(t, server)
	var work sync.WaitGroup
	defer work.Wait()
	for range 20 {
		work.Go(func() { _, _ = post(t, c, server.URL(), "") })
	}
	if err := server.Wait(t.Context(), 20); err != nil || server.Count() != 20 {
		t.Errorf("%v after %d", err, server.Count())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := server.Wait(ctx, 21); !errors.Is(err, context.Canceled) {
		t.Errorf("context: %v", err)
	}
	ended := make(chan error)
	go func() { ended <- server.Wait(t.Context(), 21) }()
	server.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// Refused connections look like a port without a listener, until Resume.
func TestRefuse_refusesConnectionsUntilResume(t *testing.T) {
	t.Parallel()
	server := faultserver.New(t, faultserver.Config{})
	c := client(t, server)
	for range 2 {
		if _, err := post(t, c, server.URL(), ""); err != nil {
			t.Fatal(err)
		}
		server.Refuse()
		c.CloseIdleConnections()
		if _, err := post(t, c, server.URL(), ""); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("refusing: %v", err)
		}
		harness.Check(t, server.Resume())
	}
	server.Close()
	if err := server.Resume(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// Close ends all faults, whatever the sender does.
func TestClose_endsAllFaults(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faultserver.Fault{
		"hang": faultserver.Hang(), "stall": faultserver.Stall(), "late": faultserver.Late(time.Hour),
		"slow headers": faultserver.SlowHeaders(time.Hour), "slow body": faultserver.SlowBody(time.Hour),
		"huge body": faultserver.HugeBody(10e9), "gzip bomb": faultserver.GzipBomb(),
		"huge headers": faultserver.HugeHeaders(10 << 20), "many headers": faultserver.ManyHeaders(1 << 20),
		"informational": faultserver.EndlessInformational(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := faultserver.New(t, always(fault))
			conn, err := net.Dial("tcp", server.Address())
			harness.Check(t, err)
			defer func() { _ = conn.Close() }()
			if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
				t.Fatal(err)
			}
			harness.Check(t, server.Wait(t.Context(), 1))
			server.Close()
			server.Close()
		})
	}
}

// Invalid requests, and headers over 1 MiB, get 400.
func TestServer_respondsWith400ToInvalidRequests(t *testing.T) {
	t.Parallel()
	server := faultserver.New(t, faultserver.Config{})
	for _, text := range []string{"EHLO there\r\n\r\n", "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 1<<20)} {
		conn, err := net.Dial("tcp", server.Address())
		harness.Check(t, err)
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(conn).ReadBytes('\n')
		if err != nil || !bytes.HasPrefix(line, []byte("HTTP/1.1 400 ")) {
			t.Errorf("%.20q: %q, %v", text, line, err)
		}
		_ = conn.Close()
	}
	if server.Count() != 0 {
		t.Errorf("%d requests", server.Count())
	}
}

// With a pipe, a server runs on the synthetic clock of testing/synctest.
func TestPipe_runsOnSyntheticTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pipe := faultserver.NewPipe()
		cfg := always(faultserver.Late(time.Hour))
		cfg.Listener = pipe
		server := faultserver.New(t, cfg)
		transport := &http.Transport{DialContext: pipe.DialContext}
		defer transport.CloseIdleConnections()
		start := time.Now()
		response, err := post(t, &http.Client{Transport: transport}, server.URL(), "{}")
		if err != nil || response.StatusCode != http.StatusOK || time.Since(start) != time.Hour {
			t.Errorf("%v, %v after %v", response, err, time.Since(start))
		}
		server.Refuse()
		if err := server.Resume(); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("Resume: %v", err)
		}
		if _, err := pipe.DialContext(t.Context(), "tcp", server.Address()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("dial after Refuse: %v", err)
		}
	})
}

func BenchmarkServer(b *testing.B) {
	server := faultserver.New(b, faultserver.Config{Keep: -1})
	c := &http.Client{Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	b.ReportAllocs()
	for b.Loop() {
		response, err := c.Post(server.URL(), "application/json", strings.NewReader("{}"))
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
}
