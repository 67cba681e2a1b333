package httpserver_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/httpserver"
)

// fetch requests the given number of bytes and returns the response, whose body has not been read.
type fetch func(bytes int) *http.Response

// eachProtocol runs a test with HTTP/1.1 and HTTP/2. The handler writes as many bytes as a request asks for, and then
// adds 1 to ended. dial opens a connection from an address. The client of HTTP/2 buffers 64 KiB of each response.
func eachProtocol(t *testing.T, cfg httpserver.Config, test func(t *testing.T, ended *atomic.Int32, dial func(address string) fetch)) {
	t.Helper()
	handler := func(ended *atomic.Int32) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			n, _ := strconv.Atoi(r.URL.Query().Get("bytes"))
			_, _ = w.Write(bytes.Repeat([]byte("a"), n))
			ended.Add(1)
		}
	}
	t.Run("HTTP/1.1", func(t *testing.T) {
		t.Parallel()
		ended := new(atomic.Int32)
		serveHandler(t, cfg, handler(ended), func(t *testing.T, p *pipes) {
			test(t, ended, func(address string) fetch {
				c := p.dial(address)
				return func(bytes int) *http.Response {
					_, _ = fmt.Fprintf(c, "GET /?bytes=%d HTTP/1.1\r\nHost: studio\r\n\r\n", bytes)
					answer := harness.Try(http.ReadResponse(c.answers, nil))(t)
					time.Sleep(time.Millisecond) // responses begin at different times
					return answer
				}
			})
		})
	})
	t.Run("HTTP/2", func(t *testing.T) {
		t.Parallel()
		ended := new(atomic.Int32)
		serveHandler(t, secureConfig(t, cfg), handler(ended), func(t *testing.T, p *pipes) {
			test(t, ended, func(address string) fetch {
				client := p.http2(t, address)
				client.HTTP2.MaxReceiveBufferPerStream = 64 << 10
				return func(bytes int) *http.Response {
					request := post(t, nil)
					request.Method, request.URL.RawQuery = http.MethodGet, fmt.Sprintf("bytes=%d", bytes)
					answer := harness.Try(client.RoundTrip(request))(t)
					time.Sleep(time.Millisecond) // responses begin at different times
					return answer
				}
			})
		})
	})
}

// complete reads a response and reports whether it is complete.
func complete(answer *http.Response, bytes int) bool {
	defer func() { _ = answer.Body.Close() }()
	n, err := io.Copy(io.Discard, answer.Body)
	return err == nil && n == int64(bytes)
}

func TestListener_aHandlerDoesNotWaitForASlowReader(t *testing.T) {
	t.Parallel()
	eachProtocol(t, httpserver.Config{}, func(t *testing.T, ended *atomic.Int32, dial func(string) fetch) {
		const size = 1 << 20
		answer := dial("192.0.2.1")(size)
		time.Sleep(time.Minute)
		if ended.Load() != 1 {
			t.Error("the handler waits")
		}
		if !complete(answer, size) {
			t.Error("the response is incomplete")
		}
	})
}

func TestListener_abortsUnreadResponsesToSaveMemory(t *testing.T) {
	t.Parallel()
	const size = 200 << 10
	// Two responses need less than half of the limit, and four less than the limit.
	cfg := httpserver.Config{MaxResponseBytes: 900 << 10}
	eachProtocol(t, cfg, func(t *testing.T, _ *atomic.Int32, dial func(string) fetch) {
		first, second := dial("192.0.2.1")(size), dial("192.0.2.2")(size)
		time.Sleep(time.Minute)
		third := dial("192.0.2.3")(size)
		time.Sleep(time.Second)
		if complete(first, size) || !complete(second, size) || !complete(third, size) {
			t.Error("not the oldest response alone is aborted")
		}
	})
	eachProtocol(t, cfg, func(t *testing.T, _ *atomic.Int32, dial func(string) fetch) {
		modest := dial("192.0.2.1")(size)
		time.Sleep(time.Second)
		greedy := []*http.Response{dial("192.0.2.2")(size), dial("192.0.2.2")(size)}
		time.Sleep(time.Second)
		if !complete(modest, size) || complete(greedy[0], size) || !complete(greedy[1], size) {
			t.Error("not the oldest response of the address with most of the memory is aborted")
		}
	})
	eachProtocol(t, cfg, func(t *testing.T, _ *atomic.Int32, dial func(string) fetch) {
		var all []*http.Response
		for i := range 6 {
			all = append(all, dial(fmt.Sprint("192.0.2.", i))(size))
		}
		left := 0
		for _, answer := range all {
			if complete(answer, size) {
				left++
			}
		}
		if left < 2 || left > 5 {
			t.Errorf("above the limit, %d responses of 6 are left", left)
		}
	})
}

func TestListener_sparesResponsesThatMakeProgress(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	eachProtocol(t, httpserver.Config{MaxResponseBytes: 3 << 20}, func(t *testing.T, _ *atomic.Int32, dial func(string) fetch) {
		reading, stalled := dial("192.0.2.1")(size), dial("192.0.2.2")(size)
		for range 12 {
			time.Sleep(100 * time.Millisecond)
			harness.Try(io.CopyN(io.Discard, reading.Body, 64<<10))(t)
		}
		if complete(stalled, size) {
			t.Error("the other response is not aborted")
		}
	})
}

// Connections with unread responses do not prevent new ones, although their handlers may not have ended.
func TestListener_evictsConnectionsThatDoNotRead(t *testing.T) {
	t.Parallel()
	const size = 3 << 20 // more than is buffered
	eachProtocol(t, httpserver.Config{MaxConnections: 2}, func(t *testing.T, _ *atomic.Int32, dial func(string) fetch) {
		older, newer := dial("192.0.2.1")(size), dial("192.0.2.2")(size)
		newcomer := dial("192.0.2.3")(1)
		if !complete(newcomer, 1) || complete(older, size) || !complete(newer, size) {
			t.Error("not the oldest connection alone is closed")
		}
	})
}

// A handler that works protects its connection, unless other requests of the connection wait for the client. One
// connection with many requests is closed, and no others.
func TestListener_evictsHTTP2ConnectionsThatHardlyRead(t *testing.T) {
	t.Parallel()
	for _, unread := range []int{0, 40} {
		const others = 10
		var release chan struct{}
		serveHandler(t, secureConfig(t, httpserver.Config{MaxConnections: unread + 1 + others, MaxConnectionsPerAddress: unread + 1}), func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Wait") != "" {
				<-release
				return
			}
			_, _ = w.Write(make([]byte, 100<<10))
		}, func(t *testing.T, p *pipes) {
			release = make(chan struct{}) // created inside the bubble
			busy, dials := p.http2(t, "192.0.2.1"), 0
			busy.HTTP2.MaxReceiveBufferPerStream = 64 << 10
			ask := func(client *http.Transport, wait string) error {
				request := post(t, nil)
				request.Header.Set("Wait", wait)
				answer, err := client.RoundTrip(request)
				if err == nil && client != busy && !complete(answer, 100<<10) {
					err = io.ErrUnexpectedEOF
				}
				return err
			}
			for range unread {
				harness.Check(t, ask(busy, ""))
			}
			worked := make(chan error, 1)
			go func() { worked <- ask(busy, "yes") }()
			var all []*http.Transport
			for i := range others + 1 { // one more than fits
				time.Sleep(time.Millisecond)
				other := counted(p.http2(t, fmt.Sprint("192.0.2.", 2+i)), &dials)
				all = append(all, other)
				harness.Check(t, ask(other, ""))
			}
			for _, other := range all[:min(unread, len(all))] {
				if err := ask(other, ""); err != nil || dials != others+1 {
					t.Fatalf("another connection is closed, too: %v, %d connections", err, dials)
				}
			}
			close(release)
			if err := <-worked; (err == nil) != (unread == 0) {
				t.Errorf("beside %d unread responses, the handler's ends with %v", unread, err)
			}
		})
	}
}

// A stream cannot be reset on a connection that accepts no data. A request that begins after the connection has ended
// is refused, because it would count for ever.
func TestListener_closesHTTP2ConnectionsThatAcceptNoData(t *testing.T) {
	t.Parallel()
	for limit, after := range map[int64]time.Duration{1: time.Second, 0: 70 * time.Second} { // while memory is scarce or not
		var begun atomic.Pointer[http.Request]
		serveHandler(t, secureConfig(t, httpserver.Config{MaxResponseBytes: limit}), func(w http.ResponseWriter, r *http.Request) {
			begun.Store(r)
			_, _ = w.Write(make([]byte, 100<<10))
		}, func(t *testing.T, p *pipes) {
			deaf := tls.Client(p.raw("192.0.2.1"), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, MaxVersion: tls.VersionTLS12})
			harness.Check(t, deaf.HandshakeContext(t.Context()))
			harness.Try(io.WriteString(deaf, http2.ClientPreface))(t)
			framer := http2.NewFramer(deaf, nil)
			_ = framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
			_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: getBlock(), EndHeaders: true, EndStream: true})
			time.Sleep(after)
			late := begun.Load()
			if late.Context().Err() == nil {
				t.Fatalf("with a limit of %d bytes, the connection stays open", limit)
			}
			again := httptest.NewRecorder()
			late.Context().Value(http.ServerContextKey).(*http.Server).Handler.ServeHTTP(again, late)
			if again.Code != http.StatusServiceUnavailable {
				t.Errorf("a late request is answered %d", again.Code)
			}
		})
	}
}

// serveTCP serves a handler on a port of this machine.
func serveTCP(t *testing.T, cfg httpserver.Config, handler http.HandlerFunc) (address string) {
	t.Helper()
	inner := harness.Try(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	serveOn(t, inner, cfg, handler)
	return inner.Addr().String()
}

// serveOn serves a handler outside of a bubble, until the test ends.
func serveOn(t *testing.T, inner net.Listener, cfg httpserver.Config, handler http.HandlerFunc) {
	t.Helper()
	l, s := httpserver.New(inner, cfg), &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, IdleTimeout: time.Hour}
	l.Install(s)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-served
	})
}

func TestListener_sendsLargeFiles(t *testing.T) {
	t.Parallel()
	name, content := filepath.Join(t.TempDir(), "file"), make([]byte, 1<<20+1)
	for i := range content {
		content[i] = byte(i >> 8)
	}
	harness.Check(t, os.WriteFile(name, content, 0o600))
	for scheme, cfg := range map[string]httpserver.Config{"http": {}, "https": secureConfig(t, httpserver.Config{})} {
		address := serveTCP(t, cfg, func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, name) })
		for _, http2 := range []bool{false, true} {
			transport := &http.Transport{ForceAttemptHTTP2: http2, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
			for part, want := range map[string][]byte{"": content, "bytes=1-": content[1:], "bytes=7-400000": content[7:400_001], "bytes=5-5": content[5:6], "bytes=1-2,5-5": content} {
				request := harness.Try(http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+address, nil))(t)
				request.Header.Set("Range", part)
				answer := harness.Try(transport.RoundTrip(request))(t)
				if got, err := io.ReadAll(answer.Body); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s, %s: %d bytes and %v, want %d", answer.Proto, part, len(got), err, len(want))
				}
				_ = answer.Body.Close()
			}
			transport.CloseIdleConnections()
		}
	}
}
