package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// crowd is a number of hostile connections that try to exhaust a daemon. A closed connection is opened
// again after a pause, so that the machine does not run out of ports.
type crowd struct {
	name      string
	behave    func(ctx context.Context, c net.Conn, token string)
	divide    int // divisor of the number of connections, for crowds with large bodies
	reopened  atomic.Int64
	connected atomic.Int64
}

// raceEnabled is true under the race detector, which needs additional memory.
var raceEnabled bool

func crowds() []*crowd {
	const head = "POST /users/login HTTP/1.1\r\nHost: studio\r\nContent-Type: application/json\r\n"
	return []*crowd{
		{name: "silent", behave: func(_ context.Context, c net.Conn, _ string) { await(c) }},
		{name: "idle", behave: func(_ context.Context, c net.Conn, _ string) {
			_, _ = io.WriteString(c, "GET /idle HTTP/1.1\r\nHost: studio\r\n\r\n")
			await(c)
		}},
		{name: "drip headers", behave: func(ctx context.Context, c net.Conn, _ string) {
			drip(ctx, c, "GET / HTTP/1.1\r\nHost: studio\r\nX-A: "+strings.Repeat("a", 1000))
		}},
		{name: "drip bodies", behave: func(ctx context.Context, c net.Conn, _ string) {
			_, _ = io.WriteString(c, head+"Content-Length: 1000\r\n\r\n")
			drip(ctx, c, strings.Repeat(" ", 1000))
		}},
		{name: "large bodies without a token", divide: 10, behave: func(_ context.Context, c net.Conn, _ string) {
			_, _ = io.WriteString(c, head+"Content-Length: 1048576\r\n\r\n")
			_, _ = c.Write(bytes.Repeat([]byte(" "), 1<<20))
			await(c)
		}},
		{name: "large bodies of a user", divide: 10, behave: func(_ context.Context, c net.Conn, token string) {
			_, _ = io.WriteString(c, strings.Replace(head, "/users/login", "/v1/lipsync/create_lipsync", 1)+
				"Authorization: Bearer "+token+"\r\nContent-Length: 1048576\r\n\r\n")
			_, _ = c.Write(bytes.Repeat([]byte(" "), 1<<20-1))
			await(c)
		}},
	}
}

func await(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

func drip(ctx context.Context, c net.Conn, text string) {
	gone := make(chan struct{})
	go func() { defer close(gone); await(c) }()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for i := range len(text) {
		_, _ = io.WriteString(c, text[i:i+1])
		select {
		case <-second.C:
		case <-gone:
			return
		case <-ctx.Done():
			return
		}
	}
}

// gather opens n connections from n addresses, and returns when each has been opened.
func (c *crowd) gather(ctx context.Context, address, token string, n, addresses int) (leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	var members, arrived sync.WaitGroup
	for i := range n {
		arrived.Add(1)
		members.Go(func() {
			tried := sync.OnceFunc(arrived.Done)
			dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+i%addresses/250), byte(1+i%addresses%250))}}
			if addresses == 1 {
				dialer.LocalAddr = nil // this address belongs to the healthy client
			}
			for ctx.Err() == nil {
				conn, err := dialer.DialContext(ctx, "tcp", address)
				if err == nil {
					c.connected.Add(1)
					stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
					tried()
					c.behave(ctx, conn, token)
					stop()
					_ = conn.Close()
					c.connected.Add(-1)
				}
				tried()
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Second):
					c.reopened.Add(1)
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

func (h *health) String() string {
	slices.Sort(h.latencies)
	at := func(part float64) time.Duration {
		return h.latencies[int(part*float64(len(h.latencies)-1))].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %v, p99 %v, max %v, %d of %d failed", at(0.5), at(0.99), at(1), h.failed, len(h.latencies))
}

func examine(ctx context.Context, url, token string, requests int) *health {
	h := &health{}
	kept, fresh := &http.Transport{}, &http.Transport{DisableKeepAlives: true}
	defer kept.CloseIdleConnections()
	for i := range requests {
		transport := kept
		if i%2 == 1 {
			transport = fresh
		}
		client := &http.Client{Transport: transport, Timeout: waitTimeout}
		began := time.Now()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/lipsync/list", nil)
		if err == nil {
			request.Header.Set("Authorization", "Bearer "+token)
			var answer *http.Response
			if answer, err = client.Do(request); err == nil {
				_, err = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				if answer.StatusCode != http.StatusOK {
					err = fmt.Errorf("status %d", answer.StatusCode)
				}
			}
		}
		if err != nil {
			h.failed++
		}
		h.latencies = append(h.latencies, time.Since(began))
		time.Sleep(5 * time.Millisecond)
	}
	return h
}

// memory returns the resident memory of a process and its peak, in MiB.
func memory(t testing.TB, pid int) (now, peak int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("memory is read from /proc: ", err)
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		n, _ := strconv.Atoi(fields[1])
		switch fields[0] {
		case "VmRSS:":
			now = n >> 10
		case "VmHWM:":
			peak = n >> 10
		}
	}
	return now, peak
}

// besideCrowd runs one crowd against a process and returns the results of a healthy client.
func besideCrowd(t testing.TB, p *process, c *crowd, token string, n, addresses, requests int) *health {
	t.Helper()
	n /= max(1, c.divide)
	leave := c.gather(t.Context(), strings.TrimPrefix(p.url, "http://"), token, n, addresses)
	h := examine(t.Context(), p.url, token, requests)
	now, peak := memory(t, p.cmd.Process.Pid)
	t.Logf("%d %s from %d addresses: %v; %d MiB, peak %d; %d connected, %d came back", n, c.name, addresses, h, now, peak,
		c.connected.Load(), c.reopened.Load())
	leave()
	return h
}

// TestProcess_survivesHostileConnections opens 1,000 hostile connections of each kind, or
// STUDIO_TEST_CROWD of each. With -v it prints the results of a healthy client.
func TestProcess_survivesHostileConnections(t *testing.T) {
	if testing.Short() {
		t.Skip("not in the short form: it opens thousands of connections")
	}
	n, _ := strconv.Atoi(cmp.Or(os.Getenv("STUDIO_TEST_CROWD"), "1000"))
	for name, create := range studiotest.Databases() {
		t.Run(name, func(t *testing.T) {
			dsn := create(t)
			prepareDatabase(t, dsn)
			p := startProcess(t, dsn, "--max-connections", strconv.Itoa(max(250, min(n/2, 2048))), "--max-connections-per-address", strconv.Itoa(max(100, min(n/4, 1024))))
			token := login(t, p.url)
			t.Logf("alone: %v", examine(t.Context(), p.url, token, 100))
			for _, addresses := range []int{1, 500} {
				for _, c := range crowds() {
					if h := besideCrowd(t, p, c, token, n, addresses, 40); h.failed > 0 {
						t.Errorf("beside %s from %d addresses %d requests failed", c.name, addresses, h.failed)
					}
				}
			}
			if _, peak := memory(t, p.cmd.Process.Pid); peak > 256 && !raceEnabled {
				t.Errorf("the daemon took %d MiB", peak)
			}
			check(t, p.end(syscall.SIGTERM))
		})
	}
}

func login(t *testing.T, url string) string {
	t.Helper()
	body := fmt.Sprintf(`{"email":%q,"password":%q}`, testEmail, testPassword)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/users/login", strings.NewReader(body))
	check(t, err)
	request.Header.Set("Content-Type", "application/json")
	answer, err := new(http.Client).Do(request)
	check(t, err)
	defer func() { _ = answer.Body.Close() }()
	var pair gen.TokenPair
	check(t, json.NewDecoder(answer.Body).Decode(&pair))
	return pair.AccessToken
}
