package httpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/httpserver"
)

// pipes is an in-memory listener for bubbles of testing/synctest.
type pipes struct {
	incoming chan net.Conn
	closed   chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.incoming:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

type remote struct {
	net.Conn
	address net.Addr
}

func (r remote) RemoteAddr() net.Addr { return r.address }

// dial opens a connection from an address.
func (p *pipes) dial(address string) *caller {
	ours := p.raw(address)
	synctest.Wait()
	return &caller{Conn: ours, answers: bufio.NewReader(ours)}
}

type caller struct {
	net.Conn
	answers *bufio.Reader
}

const get = "GET / HTTP/1.1\r\nHost: studio\r\n\r\n"

// ask sends a request and returns the response with its body, or nil if there is none.
func (c *caller) ask(request string) (*http.Response, string) {
	go func() { _, _ = io.WriteString(c, request) }()
	answer, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return &http.Response{}, err.Error()
	}
	body, _ := io.ReadAll(answer.Body)
	return answer, string(body)
}

// get sends a request that must succeed.
func (c *caller) get(t *testing.T) {
	t.Helper()
	if answer, body := c.ask(get); answer.StatusCode != http.StatusOK {
		t.Errorf("a request is answered %d %s", answer.StatusCode, body)
	}
}

// gone reports whether the connection is closed.
func (c *caller) gone() bool {
	synctest.Wait()
	_ = c.SetReadDeadline(time.Now().Add(time.Nanosecond))
	_, err := c.answers.ReadByte()
	_ = c.SetReadDeadline(time.Time{})
	return err == io.EOF || strings.Contains(fmt.Sprint(err), "closed")
}

// open returns how many connections are not closed.
func open(all []*caller) (n int) {
	for _, c := range all {
		if !c.gone() {
			n++
		}
	}
	return n
}

// serve runs a test in a bubble with a server that responds with the length of the body.
func serve(t *testing.T, cfg httpserver.Config, test func(t *testing.T, p *pipes)) {
	t.Helper()
	serveHandler(t, cfg, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if known, ok := err.(*server.Error); ok {
			server.WriteProblem(w, r, known)
			return
		}
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = fmt.Fprint(w, len(body))
	}, test)
}

func serveHandler(t *testing.T, cfg httpserver.Config, handler http.HandlerFunc, test func(t *testing.T, p *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{incoming: make(chan net.Conn), closed: make(chan struct{})}
		l := httpserver.New(p, cfg)
		s := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: time.Hour}
		l.Install(s)
		served := make(chan error)
		go func() { served <- s.Serve(l) }()
		test(t, p)
		_ = s.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		time.Sleep(time.Second) // net/http lingers on connections that it closes
		if held := l.Held(); held != [4]int64{} {
			t.Errorf("after its connections have ended, the listener holds %v", held)
		}
	})
}

func TestListener_evictsTheLeastRecentlyActiveConnection(t *testing.T) {
	t.Parallel()
	serve(t, httpserver.Config{MaxConnections: 3}, func(t *testing.T, p *pipes) {
		first, second, third := p.dial("192.0.2.1"), p.dial("192.0.2.2"), p.dial("192.0.2.3")
		for _, c := range []*caller{second, third, first} { // first is the most recently active one
			time.Sleep(time.Second)
			c.get(t)
		}
		p.dial("192.0.2.4").get(t)
		if !second.gone() || first.gone() || third.gone() {
			t.Errorf("gone are %v %v %v, want the second alone", first.gone(), second.gone(), third.gone())
		}
	})
}

func TestListener_aSlowBodyIsNoActivity(t *testing.T) {
	t.Parallel()
	serve(t, httpserver.Config{MaxConnections: 2}, func(t *testing.T, p *pipes) {
		dripping, asking := p.dial("192.0.2.1"), p.dial("192.0.2.2")
		for _, part := range []string{"POST / HTTP/1.1\r\nHost: a\r\nContent-", "Length: 9\r\n\r\n", "a", "b"} {
			time.Sleep(time.Second)
			if part == "a" { // later than the last activity of the slow connection
				asking.get(t)
			}
			_, _ = io.WriteString(dripping, part)
		}
		if _ = p.dial("192.0.2.3"); !dripping.gone() || asking.gone() {
			t.Error("want the dripping one to go")
		}
	})
}

func TestListener_evictsAddressesOverTheirShareFirst(t *testing.T) {
	t.Parallel()
	serve(t, httpserver.Config{MaxConnections: 4}, func(t *testing.T, p *pipes) {
		alone := p.dial("192.0.2.1")
		time.Sleep(time.Second)
		crowd := []*caller{p.dial("192.0.2.2"), p.dial("192.0.2.2"), p.dial("192.0.2.2")}
		_ = p.dial("192.0.2.3")
		if left := open(crowd); alone.gone() || left != 2 {
			t.Errorf("%d of the three of an address are left, want two and the older one of another", left)
		}
	})
}

func TestListener_limitsIPv4AddressesAndIPv6Networks(t *testing.T) {
	t.Parallel()
	for _, addresses := range [][3]string{
		{"192.0.2.1", "192.0.2.1", "192.0.2.2"},
		{"192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"},
		{"2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1"},
	} {
		serve(t, httpserver.Config{MaxConnections: 3}, func(t *testing.T, p *pipes) { // half of them for each address
			first := p.dial(addresses[0])
			other := p.dial(addresses[2])
			second := p.dial(addresses[1])
			if !first.gone() || other.gone() || second.gone() {
				t.Errorf("%v: want the second connection to take the place of the first", addresses)
			}
			if _ = p.dial(addresses[0]); !second.gone() || other.gone() {
				t.Errorf("%v: want the third connection to take the place of the second", addresses)
			}
		})
	}
}

func TestListener_doesNotLimitATrustedProxy(t *testing.T) {
	t.Parallel()
	proxy := netip.MustParseAddr("2001:db8::1")
	cfg := httpserver.Config{MaxConnections: 8, MaxConnectionsPerAddress: 2, Trusted: func(ip netip.Addr) bool { return ip == proxy }}
	serve(t, cfg, func(t *testing.T, p *pipes) {
		neighbours, proxied := []*caller{p.dial("2001:db8::2"), p.dial("2001:db8::2")}, []*caller{}
		time.Sleep(time.Second)
		for range 6 {
			proxied = append(proxied, p.dial("2001:db8::1"))
		}
		time.Sleep(time.Second)
		_ = p.dial("2001:db8::3") // in the same network, so a connection of that network is closed
		if all, left := open(proxied), open(neighbours); all != 6 || left != 1 {
			t.Errorf("%d of six connections of the proxy are left, and %d of two of the neighbours", all, left)
		}
		_ = p.dial("192.0.2.1") // the least recently active connection is the other neighbour
		_ = p.dial("192.0.2.2") // now it is one of the proxy
		if left := open(proxied); left != 5 {
			t.Errorf("%d connections of the proxy are left, want 5", left)
		}
	})
}

func TestListener_doesNotEvictConnectionsBeingServed(t *testing.T) {
	t.Parallel()
	serveHandler(t, httpserver.Config{MaxConnections: 1}, func(http.ResponseWriter, *http.Request) { time.Sleep(30 * time.Second) },
		func(t *testing.T, p *pipes) {
			busy := p.dial("192.0.2.1")
			harness.Try(io.WriteString(busy, get))(t)
			synctest.Wait()
			if answer, _ := p.dial("192.0.2.2").ask(""); answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "1" {
				t.Errorf("the new one is answered %d", answer.StatusCode)
			}
			if answer, _ := busy.ask(""); answer.StatusCode != http.StatusOK {
				t.Errorf("answered %d", answer.StatusCode)
			}
		})
}

func TestListener_enforcesTheMinimumBodyRate(t *testing.T) {
	t.Parallel()
	for protocol, cfg := range map[string]httpserver.Config{"HTTP/1.1": {}, "HTTP/2.0": secureConfig(t, httpserver.Config{})} {
		for _, slow := range []bool{true, false} {
			serve(t, cfg, func(t *testing.T, p *pipes) {
				client := p.http2(t, "192.0.2.1")
				client.DialContext = func(context.Context, string, string) (net.Conn, error) { return p.raw("192.0.2.1"), nil }
				body, writer := io.Pipe()
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					for range 100 { // 1.1 or 0.5 of the rate
						if _, err := io.WriteString(writer, strings.Repeat("a", 8<<10)); err != nil {
							break
						}
						time.Sleep(900 * time.Millisecond)
						if slow {
							time.Sleep(1100 * time.Millisecond)
						}
					}
					_ = writer.Close()
				}()
				request := post(t, body)
				if request.ContentLength = 819200; cfg.TLS == nil {
					request.URL.Scheme = "http"
				}
				began, status := time.Now(), 0
				answer, err := client.RoundTrip(request)
				took := time.Since(began)
				if err == nil {
					status = answer.StatusCode
					_ = answer.Body.Close()
				}
				// At 20 s, 80 KiB of a slow body have arrived. The deadline is 10 s plus one second for each 8 KiB.
				if slow && (status == http.StatusOK || took < 20*time.Second || took > 22*time.Second) || !slow && status != http.StatusOK {
					t.Errorf("%s: a body that is slow (%t) ended after %v with %d, %v", protocol, slow, took, status, err)
				}
				_ = body.Close()
				<-sent
			})
		}
	}
}

func TestListener_limitsTheBytesOfBodiesInMemory(t *testing.T) {
	t.Parallel()
	serve(t, httpserver.Config{MaxBodyBytes: 100_000}, func(t *testing.T, p *pipes) {
		var held []*caller
		for _, address := range []string{"192.0.2.1", "192.0.2.2"} {
			c := p.dial(address)
			held = append(held, c)
			_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n"+strings.Repeat("a", 45_000))
			synctest.Wait()
		}
		answer, body := p.dial("192.0.2.3").ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 30000\r\n\r\n" + strings.Repeat("a", 30_000))
		if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "1" {
			t.Errorf("a large body is answered %d %s", answer.StatusCode, body)
		}
		if _, body := p.dial("192.0.2.4").ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4000\r\n\r\n" + strings.Repeat("a", 4000)); body != "4000" {
			t.Errorf("a small body is answered %s", body)
		}
		for _, c := range held {
			if _, body := c.ask(strings.Repeat("a", 5000)); body != "50000" {
				t.Errorf("a body that came before is answered %s", body)
			}
		}
		if _, body := p.dial("192.0.2.3").ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n" + strings.Repeat("a", 50_000)); body != "50000" {
			t.Errorf("with room again it is answered %s", body)
		}
	})
}

func TestListener_replacesErrorsOfNetHTTPWithProblems(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]int{
		"GET / HTTP/1.1\r\nHost: a\r\nExpect: a miracle\r\n\r\n":                           417,
		"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n":                                             400,
		"GET / HTTP/1.1\r\n\r\n":                                                           400,
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n":                    501,
		"GET / HTTP/3.1\r\nHost: a\r\n\r\n":                                                505,
		"nonsense\r\n\r\n":                                                                 400,
		"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 2<<20) + "\r\n\r\n":       431,
		"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X:\r\n", 136):                    431,
		"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X:\r\n", 129) + "\r\n":           431,
		get + "GET / HTTP/1.1\r\nHost: a\r\nExpect: a miracle\r\nX-Second: of two\r\n\r\n": 200,
	} {
		var log bytes.Buffer
		serve(t, httpserver.Config{Logger: slog.New(slog.NewJSONHandler(&log, nil))}, func(t *testing.T, p *pipes) {
			c := p.dial("2001:db8::1")
			answer, body := c.ask(request)
			if want == http.StatusOK { // the second response
				if answer, body = c.ask(""); answer.StatusCode != 417 {
					t.Errorf("the second request is answered %d %s", answer.StatusCode, body)
				}
			} else if answer.StatusCode != want {
				t.Errorf("%.40q is answered %d %s, want %d", request, answer.StatusCode, body, want)
			}
			problem := make(map[string]any)
			if err := json.Unmarshal([]byte(body), &problem); err != nil || problem["status"] != float64(answer.StatusCode) ||
				problem["request_id"] != answer.Header.Get("X-Request-Id") || answer.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%.40q is answered %v %s", request, answer.Header, body)
			}
			if !strings.Contains(log.String(), `"client":"2001:db8::1"`) {
				t.Errorf("the log does not name the client: %s", &log)
			}
		})
	}
}

// A header takes much more memory than it has bytes. Lines of bodies are no headers, also if they are sent with the
// headers or with another request.
func TestListener_limitsTheNumberOfHeaders(t *testing.T) {
	t.Parallel()
	most := "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n" + strings.Repeat("X:\r\n", 127) + "\r\n" + strings.Repeat("\n", 1000)
	for name, cfg := range map[string]httpserver.Config{"plain": {}, "TLS": secureConfig(t, httpserver.Config{})} {
		serve(t, cfg, func(t *testing.T, p *pipes) {
			c := p.raw("192.0.2.1")
			defer c.Close() // without TLS: nobody reads the alert that ends it
			if name == "TLS" {
				c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
			}
			from := &caller{Conn: c, answers: bufio.NewReader(c)}
			for range 2 {
				from.ask(most + most)
				if answer, body := from.ask(""); answer.StatusCode != http.StatusOK || body != "1000" {
					t.Errorf("%s: 128 headers are answered %d %s", name, answer.StatusCode, body)
				}
			}
			if answer, body := from.ask(strings.Replace(most, "X:", "X:\r\nX:", 1)); answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("%s: 129 headers are answered %d %s", name, answer.StatusCode, body)
			}
		})
	}
	endless := strings.Repeat("X:\r\n", 1500)
	for _, pieces := range [][]string{ // of a request with headers that never end, after another one
		{"", "\r\nGET / HTTP/1.1\r\nHost: a\r\n" + endless},
		{"GET / HTTP/1.1\r\nHost: a", "\r\n" + endless},
		{"GET / HTTP/1.1\r\nHost: a\r\n", endless},
	} {
		serve(t, httpserver.Config{}, func(t *testing.T, p *pipes) {
			c := p.dial("192.0.2.1")
			c.ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n" + pieces[0])
			if answer, body := c.ask(pieces[1]); answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("headers without an end, after %q, are answered %d %s", pieces[0], answer.StatusCode, body)
			}
		})
	}
	serve(t, secureConfig(t, httpserver.Config{}), func(t *testing.T, p *pipes) {
		client := p.http2(t, "192.0.2.1")
		for n, want := range map[int]int{125: http.StatusOK, 126: http.StatusRequestHeaderFieldsTooLarge} { // the client adds three
			request := post(t, nil)
			request.Header["X"] = make([]string, n)
			answer := harness.Try(client.RoundTrip(request))(t)
			harness.Check(t, answer.Body.Close())
			if answer.StatusCode != want {
				t.Errorf("HTTP/2: %d headers are answered %d", n, answer.StatusCode)
			}
		}
	})
}

func TestListener_rejectsABodyBeforeTheClientSendsIt(t *testing.T) {
	t.Parallel()
	reject := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) }
	serveHandler(t, httpserver.Config{}, reject, func(t *testing.T, p *pipes) {
		c, began := p.dial("192.0.2.1"), time.Now()
		answer, _ := c.ask("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5000\r\n\r\n")
		if answer.StatusCode != http.StatusRequestEntityTooLarge || time.Since(began) > 0 || !answer.Close {
			t.Errorf("it responds %d after %v, Close %t, want 413 at once, and that the connection ends", answer.StatusCode, time.Since(began), answer.Close)
		}
	})
}

func TestListener_closesConnectionsThatMustEnd(t *testing.T) {
	t.Parallel()
	serve(t, httpserver.Config{}, func(t *testing.T, p *pipes) {
		for _, request := range []string{"1.1\r\nHost: a\r\nContent-Length: 3", "1.0\r\nConnection: keep-alive\r\nContent-Length: 11", "1.0\r\nConnection: keep-alive"} {
			both := p.dial("192.0.2.1")
			answer, _ := both.ask("POST / HTTP/" + request + "\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n")
			if answer.StatusCode != http.StatusOK || !answer.Close || !both.gone() {
				t.Errorf("after %q with a Transfer-Encoding the connection goes on: %+v", request, answer)
			}
		}
	})
}
