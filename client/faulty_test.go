package client_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// faulty is a service that fails every request and counts them.
type faulty struct {
	url    string
	client *http.Client
	seen   *atomic.Int64
}

func answering(handler http.HandlerFunc) func(*testing.T) faulty {
	return answeringOver((*httptest.Server).Start, handler)
}

func startHTTP2(server *httptest.Server) {
	server.EnableHTTP2 = true
	server.StartTLS()
}

func answeringOver(start func(*httptest.Server), handler http.HandlerFunc) func(*testing.T) faulty {
	return func(t *testing.T) faulty {
		t.Helper()
		var seen atomic.Int64
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen.Add(1)
			_, _ = io.ReadAll(r.Body)
			handler(w, r)
		}))
		start(server)
		t.Cleanup(server.Close)
		return faulty{server.URL, server.Client(), &seen}
	}
}

func drop(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func dropInBody(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, `{"avatar_id":"canary`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// dialled returns a service that closes each connection, or whose listener is closed. It counts the
// connections.
func dialled(scheme string, closed bool, wrap func(net.Conn) net.Conn) func(*testing.T) faulty {
	return func(t *testing.T) faulty {
		t.Helper()
		address := closing(t, closed)
		var seen atomic.Int64
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			seen.Add(1)
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
			if err != nil {
				return nil, err
			}
			return wrap(conn), nil
		}
		return faulty{scheme + "://" + address, &http.Client{Transport: &http.Transport{DialContext: dial}}, &seen}
	}
}

func asItIs(conn net.Conn) net.Conn { return conn }

// closing returns the address of a listener that closes each connection, or that is closed itself.
func closing(t *testing.T, itself bool) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	if itself {
		listener.Close()
		return listener.Addr().String()
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	})
	t.Cleanup(func() { listener.Close(); group.Wait() })
	return listener.Addr().String()
}

// talker is a connection that reports an error only after the whole request was written: a GET, or a POST with an
// object.
type talker struct {
	net.Conn

	said chan struct{}
	once sync.Once
}

func newTalker(conn net.Conn) net.Conn { return &talker{Conn: conn, said: make(chan struct{})} }

func (c *talker) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if bytes.HasPrefix(p, []byte("GET")) || bytes.HasSuffix(p, []byte("}")) || err != nil {
		c.once.Do(func() { close(c.said) })
	}
	return n, err
}

func (c *talker) Read(p []byte) (int, error) {
	<-c.said
	return c.Conn.Read(p)
}

func (c *talker) Close() error {
	c.once.Do(func() { close(c.said) })
	return c.Conn.Close()
}
