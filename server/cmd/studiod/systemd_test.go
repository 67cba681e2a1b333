package main

import (
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// socketUnit returns the address of a socket unit of systemd, and a function that starts a process of its service.
func socketUnit(t *testing.T) (address string, start func(dsn string, args ...string) *harness.Daemon) {
	t.Helper()
	l := try(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	socket, err := l.(*net.TCPListener).File() //nolint:forcetypeassert // Listen returns no other type for tcp
	check(t, errors.Join(err, l.Close()))
	t.Cleanup(func() { check(t, socket.Close()) })
	program := append([]string{"sh", "-c", `LISTEN_PID=$$ exec "$@"`, "sh"}, thisProgram(t)...)
	return l.Addr().String(), func(dsn string, args ...string) *harness.Daemon {
		t.Helper()
		command := serveBy(program, dsn, append([]string{"--renderer=simulate:0s", "--admin-addr=off"}, args...)...)
		i := slices.Index(command.Args, "--addr")
		command.Args = slices.Delete(command.Args, i, i+2)
		command.ExtraFiles = []*os.File{socket}
		command.Env = append(command.Env, "LISTEN_FDS=1", "LISTEN_FDNAMES=studiod.socket")
		return harness.RunDaemon(t, command)
	}
}

// A restart fails no request: what arrives meanwhile waits for the next process. The clients retry nothing that a
// server may have received.
func TestProcess_restartFailsNoRequest(t *testing.T) {
	t.Parallel()
	for name, clients := range map[string]struct{ tls, http2 bool }{"HTTP": {}, "HTTP/2": {true, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := studiotest.NewEmptySQLite(t)
			prepareDatabase(t, dsn)
			key := must(t, "", "key", "add", "--db="+dsn, testEmail, "load")
			socket, start := socketUnit(t)
			var args []string
			cert, private := certificate(t, "a")
			if clients.tls {
				certFile, keyFile := writeCertificate(t, cert, private)
				args = []string{"--tls-cert", certFile, "--tls-key", keyFile}
			}
			p := start(dsn, args...)
			if _, addr, _ := strings.Cut(p.URL, "://"); addr != socket {
				t.Fatalf("it serves at %s, and the socket is %s", addr, socket)
			}
			var successes atomic.Int64
			var load sync.WaitGroup
			stop := make(chan struct{})
			for i := range 4 {
				c := secure(t, clients.http2, cert)
				transport := c.Transport.(*http.Transport) //nolint:forcetypeassert // see secure
				transport.DisableKeepAlives = i%2 == 0 && !clients.http2
				c.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
					if !clients.http2 { // there, GOAWAY names the requests that were not handled
						r = r.Clone(r.Context())
						r.GetBody = nil
					}
					return transport.RoundTrip(r)
				})
				load.Go(func() {
					pause := time.NewTicker(20 * time.Millisecond)
					defer pause.Stop()
					for {
						response, content, err := exchange(t.Context(), c, http.MethodPost, p.URL+"/v1/lipsync/create_lipsync", "{}", bearer(key))
						if err != nil || response.StatusCode != http.StatusOK {
							t.Errorf("%v %s", err, content)
							return
						}
						successes.Add(1)
						select {
						case <-stop:
							return
						case <-pause.C:
						}
					}
				})
			}
			for range 2 {
				before := successes.Load()
				harness.Eventually(t, "requests", func() bool { return successes.Load() > before+20 || t.Failed() })
				check(t, p.Stop())
				p = start(dsn, args...)
			}
			close(stop)
			load.Wait()
			check(t, p.Stop())
			var created int64
			check(t, studiotest.OpenSQL(t, dsn).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM subjects").Scan(&created))
			if created != successes.Load() {
				t.Errorf("%d requests created %d records", successes.Load(), created)
			}
		})
	}
}
