package httpserver_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/httpserver"
)

// secureConfig returns cfg with the TLS certificate of net/http/httptest.
func secureConfig(t *testing.T, cfg httpserver.Config) httpserver.Config {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	cfg.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: s.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}
	return cfg
}

// raw opens a connection from an address without a TLS handshake.
func (p *pipes) raw(address string) net.Conn {
	ours, theirs := net.Pipe()
	p.incoming <- remote{theirs, net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(address), 1))}
	return ours
}

// http2 returns an HTTP/2 client at an address that uses a single connection.
func (p *pipes) http2(t *testing.T, address string) *http.Transport {
	t.Helper()
	client := &http.Transport{
		ForceAttemptHTTP2: true, HTTP2: &http.HTTP2Config{StrictMaxConcurrentRequests: true},
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c := tls.Client(p.raw(address), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
			return c, c.HandshakeContext(ctx)
		},
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// counted counts the connections of a client.
func counted(client *http.Transport, dials *int) *http.Transport {
	dial := client.DialTLSContext
	client.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		*dials++
		return dial(ctx, network, address)
	}
	return client
}

func post(t *testing.T, body io.Reader) *http.Request {
	t.Helper()
	return harness.Try(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://studio/", body))(t)
}

func TestListener_countsHTTP2RequestsAsConnections(t *testing.T) {
	t.Parallel()
	cfg := secureConfig(t, httpserver.Config{MaxConnections: 6, MaxConnectionsPerAddress: 4})
	var release chan struct{}
	serveHandler(t, cfg, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Wait") != "" {
			<-release
		}
		w.WriteHeader(http.StatusNoContent)
	}, func(t *testing.T, p *pipes) {
		greedy, other := p.http2(t, "192.0.2.1"), p.http2(t, "192.0.2.2")
		ask := func(client *http.Transport, wait string, want int) {
			request := post(t, nil)
			request.Header.Set("Wait", wait)
			answer, err := client.RoundTrip(request)
			if err != nil || answer.StatusCode != want || want == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") != "1" {
				t.Errorf("a request is answered %+v, %v, want %d", answer, err, want)
			}
		}
		for range 10 { // sequential requests count once
			ask(greedy, "", http.StatusNoContent)
		}
		synctest.Wait() // until the last one has ended
		for range 2 {   // requests that have ended do not count
			release = make(chan struct{}) // created inside the bubble
			var waiting sync.WaitGroup
			for range 4 {
				waiting.Go(func() { ask(greedy, "yes", http.StatusNoContent) })
			}
			synctest.Wait()
			ask(greedy, "", http.StatusServiceUnavailable) // the fifth of an address at once
			ask(other, "", http.StatusNoContent)
			close(release)
			waiting.Wait()
			synctest.Wait()
		}
	})
}

func TestListener_evictsAnHTTP2ConnectionWithoutProgress(t *testing.T) {
	t.Parallel()
	serve(t, secureConfig(t, httpserver.Config{MaxConnections: 4, MaxConnectionsPerAddress: 4}), func(t *testing.T, p *pipes) {
		silent := p.http2(t, "192.0.2.1")
		var ended sync.WaitGroup
		for range 4 { // on one connection
			ended.Go(func() {
				body, writer := io.Pipe()
				defer func() { _ = writer.Close() }()
				answer, err := silent.RoundTrip(post(t, body))
				if err == nil {
					_ = answer.Body.Close()
					t.Errorf("a body that does not come is answered %d", answer.StatusCode)
				}
			})
		}
		synctest.Wait()
		ask(t, p.http2(t, "192.0.2.2"))
		ended.Wait()
	})
}

func TestListener_freesHTTP2ConnectionsThatEndDuringARequest(t *testing.T) {
	t.Parallel()
	const connections = 10
	p := &pipes{incoming: make(chan net.Conn), closed: make(chan struct{})}
	serveOn(t, p, secureConfig(t, httpserver.Config{}), func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	var freed atomic.Int32
	for range connections {
		ours, theirs := net.Pipe()
		connection := &remote{theirs, &net.TCPAddr{}}
		runtime.AddCleanup(connection, func(freed *atomic.Int32) { freed.Add(1) }, &freed)
		p.incoming <- connection
		client := &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c := tls.Client(ours, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
			return c, c.HandshakeContext(ctx)
		}}
		body, writer := io.Pipe()
		go func() {
			_, _ = writer.Write([]byte("h")) // the request has begun
			_ = ours.Close()
		}()
		if answer, err := client.RoundTrip(post(t, body)); err == nil {
			_ = answer.Body.Close()
			t.Errorf("a closed connection is answered %d", answer.StatusCode)
		}
	}
	// The last use of a few may remain on a stack or in a pool.
	harness.Eventually(t, "that the memory of most connections is freed", func() bool {
		runtime.GC()
		return freed.Load() >= connections/2
	})
}

func TestListener_closesIdleConnections(t *testing.T) {
	t.Parallel()
	serve(t, httpserver.Config{}, func(t *testing.T, p *pipes) {
		c := p.dial("192.0.2.1")
		for range 3 {
			c.get(t)
			time.Sleep(time.Hour - time.Second)
		}
		time.Sleep(2 * time.Second)
		if !c.gone() {
			t.Error("an idle connection stays open")
		}
	})
	serve(t, secureConfig(t, httpserver.Config{}), func(t *testing.T, p *pipes) {
		dials := 0
		client := counted(p.http2(t, "192.0.2.1"), &dials)
		for _, test := range []struct {
			wait  time.Duration
			dials int
		}{{0, 1}, {time.Hour - time.Second, 1}, {time.Hour - time.Second, 1}, {time.Hour + time.Second, 2}} {
			time.Sleep(test.wait)
			answer, err := client.RoundTrip(post(t, nil))
			if err != nil || dials != test.dials {
				t.Fatalf("%v after the last request: error %v, %d connections, want %d", test.wait, err, dials, test.dials)
			}
			_ = answer.Body.Close()
		}
	})
}

func TestListener_limitsTheTLSHandshake(t *testing.T) {
	t.Parallel()
	serve(t, secureConfig(t, httpserver.Config{}), func(t *testing.T, p *pipes) {
		began := time.Now()
		silent := p.raw("192.0.2.1")
		if _, err := silent.Read(make([]byte, 1)); err == nil || time.Since(began) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestListener_respondsWithProblemsOverTLS(t *testing.T) {
	t.Parallel()
	for name, plain := range map[string]bool{"a request without TLS": true, "a request that is none, over TLS": false} {
		serve(t, secureConfig(t, httpserver.Config{}), func(t *testing.T, p *pipes) {
			c, request := p.raw("192.0.2.1"), get
			defer func() { _ = c.Close() }()
			if !plain {
				c, request = tls.Client(c, &tls.Config{InsecureSkipVerify: true}), "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n"
			}
			from := &caller{Conn: c, answers: bufio.NewReader(c)}
			answer, body := from.ask(request)
			problem := make(map[string]any)
			if err := json.Unmarshal([]byte(body), &problem); err != nil || answer.StatusCode != http.StatusBadRequest || problem["status"] != 400.0 ||
				strings.Contains(fmt.Sprint(problem["detail"]), "https") != plain {
				t.Errorf("%s is answered %d %s", name, answer.StatusCode, body)
			}
			if again, _ := io.ReadAll(from.answers); len(again) > 0 {
				t.Errorf("%s is answered again: %s", name, again)
			}
		})
	}
}
