package client_test

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/iotest"
)

// faulty is a service that fails every request and counts them.
type faulty struct {
	url       string
	transport http.RoundTripper
	seen      *atomic.Int64
}

// answering returns a service that responds with a status and an array, which is no documented JSON.
func answering(status int, header ...string) func(*testing.T) faulty {
	return func(t *testing.T) faulty {
		t.Helper()
		var seen atomic.Int64
		return faulty{"http://localhost", roundTripper(func(r *http.Request) (*http.Response, error) {
			seen.Add(1)
			_, _ = io.ReadAll(cmp.Or[io.ReadCloser](r.Body, http.NoBody))
			response := respond(status, http.Header{"Content-Type": {"application/problem+json"}}, "[]")
			for i := 0; i < len(header); i += 2 {
				response.Header.Set(header[i], header[i+1])
			}
			if response.Header.Get("Content-Length") != "" {
				response.Body = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))
			}
			return response, nil
		}), &seen}
	}
}

func startHTTP2(server *httptest.Server) {
	server.EnableHTTP2 = true
	server.StartTLS()
}

// dropping returns a service that reads a request and closes its connection.
func dropping(start func(*httptest.Server)) func(*testing.T) faulty {
	return func(t *testing.T) faulty {
		t.Helper()
		var seen atomic.Int64
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			seen.Add(1)
			_, _ = io.ReadAll(r.Body)
			panic(http.ErrAbortHandler)
		}))
		start(server)
		t.Cleanup(server.Close)
		return faulty{server.URL, server.Client().Transport, &seen}
	}
}

// dialled returns a service that start starts or closes. It counts the connections.
func dialled(scheme string, start func(*httptest.Server)) func(*testing.T) faulty {
	return func(t *testing.T) faulty {
		t.Helper()
		server := httptest.NewUnstartedServer(nil)
		start(server)
		t.Cleanup(server.Close)
		address := server.Listener.Addr().String()
		var seen atomic.Int64
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			seen.Add(1)
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
		return faulty{scheme + "://" + address, &http.Transport{DialContext: dial}, &seen}
	}
}

// startClosing starts a server that closes each connection.
func startClosing(server *httptest.Server) {
	server.Config.ConnState = func(conn net.Conn, _ http.ConnState) { conn.Close() }
	server.Start()
}
