package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// crowd is a number of hostile connections that try to exhaust a daemon. A closed connection is opened again after a
// pause, so that the machine does not run out of ports.
type crowd struct {
	name   string
	sends  string // at once
	drips  string // afterwards, a byte a second
	slow   bool   // whether connections have the smallest receive buffer, and read a byte a second
	divide int    // divisor of the number of connections, for crowds with large bodies
	url    string // of the server; the default is the daemon's
}

func crowds(token string) []*crowd {
	const head = "POST /users/login HTTP/1.1\r\nHost: studio\r\nContent-Type: application/json\r\n"
	user := strings.Replace(head, "/users/login", "/v1/lipsync/create_lipsync", 1) + bearer(token) + "\r\n"
	large := "Content-Length: 1048576\r\n\r\n" + strings.Repeat(" ", 1<<20-1)
	return []*crowd{
		{name: "silent"},
		{name: "idle", sends: "GET /idle HTTP/1.1\r\nHost: studio\r\n\r\n"},
		{name: "drip headers", drips: "GET / HTTP/1.1\r\nHost: studio\r\nX-A: " + strings.Repeat("a", 1000)},
		{name: "drip bodies", sends: head + "Content-Length: 1000\r\n\r\n", drips: strings.Repeat(" ", 1000)},
		{name: "large bodies without a token", divide: 10, sends: head + large + " "},
		{name: "large bodies of a user", divide: 10, sends: user + large},
	}
}

// behave uses a connection until it is closed.
func (c *crowd) behave(ctx context.Context, conn net.Conn) {
	_, err := io.WriteString(conn, c.sends)
	gone := make(chan struct{})
	if !c.slow {
		go func() { defer close(gone); _, _ = io.Copy(io.Discard, conn) }()
	}
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for i := 0; ctx.Err() == nil && (err == nil || !c.slow); i++ {
		if c.slow {
			_, err = conn.Read(make([]byte, 1))
		} else if i < len(c.drips) {
			_, err = io.WriteString(conn, c.drips[i:i+1])
		}
		select {
		case <-second.C:
		case <-gone:
			return
		case <-ctx.Done():
		}
	}
}

// control sets the receive buffer of a connection before it is opened.
func (c *crowd) control(_, _ string, conn syscall.RawConn) (err error) {
	if c.slow {
		err = conn.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1) })
	}
	return err
}

// gather opens n connections from n addresses, and returns when each has been opened.
func (c *crowd) gather(ctx context.Context, address string, n, addresses int) (leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	var members, arrived sync.WaitGroup
	for i := range n {
		arrived.Add(1)
		members.Go(func() {
			tried := sync.OnceFunc(arrived.Done)
			dialer := &net.Dialer{Control: c.control, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+i%addresses/250), byte(1+i%addresses%250))}}
			if addresses == 1 {
				dialer.LocalAddr = nil // this address belongs to the healthy client
			}
			for ctx.Err() == nil {
				conn, err := dialer.DialContext(ctx, "tcp", address)
				if err == nil {
					stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
					tried()
					c.behave(ctx, conn)
					stop()
					_ = conn.Close()
				}
				tried()
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Second):
				}
			}
			tried()
		})
	}
	arrived.Wait()
	return func() { cancel(); members.Wait() }
}

// health are the results of a client that lists its lip-syncs, with a new connection for every second
// request.
type health struct {
	latencies []time.Duration
	failed    int
}

// at returns the latency that a part of the requests does not exceed.
func (h *health) at(part float64) time.Duration {
	slices.Sort(h.latencies)
	return h.latencies[int(part*float64(len(h.latencies)-1))].Round(100 * time.Microsecond)
}

func (h *health) String() string {
	return fmt.Sprintf("p50 %v, p99 %v, max %v, %d of %d failed", h.at(0.5), h.at(0.99), h.at(1), h.failed, len(h.latencies))
}

func examine(ctx context.Context, url, token string, requests int) *health {
	h := &health{}
	kept, fresh := &http.Transport{TLSClientConfig: insecure()}, &http.Transport{TLSClientConfig: insecure(), DisableKeepAlives: true}
	defer kept.CloseIdleConnections()
	for i := range requests {
		transport := kept
		if i%2 == 1 {
			transport = fresh
		}
		began := time.Now()
		answer, err := send(ctx, &http.Client{Transport: transport, Timeout: harness.Timeout}, http.MethodGet, url, token)
		if err != nil || answer.StatusCode != http.StatusOK {
			h.failed++
		}
		h.latencies = append(h.latencies, time.Since(began))
		time.Sleep(2 * time.Millisecond)
	}
	return h
}

// besideCrowds runs crowds against a process, which share n connections, and checks the results of a healthy client. If
// one of its requests fails or its latency exceeds limit, which may happen while the crowds arrive, it measures up to
// twice again.
func besideCrowds(t *testing.T, p *process, crowds []*crowd, token string, n, addresses int, limit time.Duration) {
	t.Helper()
	names := ""
	for _, c := range crowds {
		n := max(1, n/len(crowds)/max(1, c.divide))
		_, address, _ := strings.Cut(cmp.Or(c.url, p.URL), "://")
		defer c.gather(t.Context(), address, n, addresses)()
		names += fmt.Sprintf("%d %s, ", n, c.name)
	}
	var h *health
	for again := 3; again > 0; again-- {
		h = examine(t.Context(), p.URL, token, 50)
		now, peak := p.Memory()
		t.Logf("%sfrom %d addresses: %v; %d MiB, peak %d", names, addresses, h, now>>20, peak>>20)
		if h.failed == 0 && h.at(0.99) <= limit {
			break
		}
	}
	if h.failed > 0 || h.at(0.99) > limit {
		t.Errorf("beside %sfrom %d addresses: %v", names, addresses, h)
	}
}

// maxP99 is the limit of the latency of a healthy client beside slow readers, for which it would wait until the daemon
// ends their responses. On a very busy machine, the limit is a multiple of the latency without slow readers.
const maxP99 = 5 * time.Second

// TestProcess_survivesHostileConnections opens up to 1,000 hostile connections at a time. With -v it prints the results
// of a healthy client.
func TestProcess_survivesHostileConnections(t *testing.T) {
	harness.SkipShort(t, "it opens thousands of connections")
	for name, create := range studiotest.Databases() {
		t.Run(name, func(t *testing.T) {
			dsn := create(t)
			prepareDatabase(t, dsn)
			workspace := fill(t, dsn)
			if name == "SQLite" { // on PostgreSQL, only readers keep what was read from the database waiting
				p := startProcess(t, dsn, "--max-connections=500", "--renderer=simulate:10m")
				token := login(t, p.URL, testEmail).AccessToken
				for _, addresses := range []int{1, 500} {
					besideCrowds(t, p, crowds(token), token, 1000, addresses, 30*time.Second)
				}
				endure(t, p)
			}
			p := startProcess(t, dsn, "--admin-addr=127.0.0.1:0", "--renderer=simulate:10m")
			token := login(t, p.URL, testEmail).AccessToken
			alone := examine(t.Context(), p.URL, token, 50)
			t.Logf("alone: %v", alone)
			for group := range slices.Chunk(readers(t, p, workspace, name != "SQLite"), 8) {
				besideCrowds(t, p, group, token, 600, 1, max(maxP99, 5*alone.at(0.99)))
			}
			endure(t, p)
		})
	}
}

// endure checks the memory of a process, and kills it: to stop, it would wait for its renderings.
func endure(t *testing.T, p *process) {
	t.Helper()
	if _, peak := p.Memory(); peak > 256<<20 {
		t.Errorf("the daemon took %d MiB", peak>>20)
	}
	check(t, p.Kill())
}
