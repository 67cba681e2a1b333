package main

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// socketUnit is a socket unit of systemd.
type socketUnit struct {
	addr   string
	socket *os.File
	notify *net.UnixConn // receives the notifications of the service
}

func newSocketUnit(t *testing.T) *socketUnit {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	u := &socketUnit{addr: l.Addr().String()}
	u.socket, err = l.(*net.TCPListener).File() //nolint:forcetypeassert // Listen returns no other type for tcp
	check(t, err)
	check(t, l.Close())
	dir, err := os.MkdirTemp("", "studiod-notify-") //nolint:usetesting // the path of a socket must be short
	check(t, err)
	u.notify, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	check(t, err)
	t.Cleanup(func() { check(t, errors.Join(u.socket.Close(), u.notify.Close(), os.RemoveAll(dir))) })
	return u
}

// start starts a process of the service with the socket.
func (u *socketUnit) start(t *testing.T, dsn string, args ...string) *harness.Daemon {
	t.Helper()
	program := append([]string{"sh", "-c", `LISTEN_PID=$$ exec "$@"`, "sh"}, thisProgram(t)...)
	command := serveBy(program, dsn, append([]string{"--renderer=simulate:0s", "--admin-addr=off"}, args...)...)
	i := slices.Index(command.Args, "--addr")
	command.Args = slices.Delete(command.Args, i, i+2)
	command.ExtraFiles = []*os.File{u.socket}
	command.Env = append(command.Env, "NOTIFY_SOCKET="+u.notify.LocalAddr().String(), "LISTEN_FDS=1", "LISTEN_FDNAMES=studiod.socket")
	return harness.RunDaemon(t, command)
}

// state returns the next notification.
func (u *socketUnit) state(t *testing.T) string {
	t.Helper()
	text := make([]byte, 512)
	check(t, u.notify.SetReadDeadline(time.Now().Add(harness.Timeout)))
	n, err := u.notify.Read(text)
	check(t, err)
	return string(text[:n])
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
			key := regexp.MustCompile(`avs_\w+`).FindString(must(t, "", "key", "add", "--db="+dsn, testEmail, "load"))
			unit := newSocketUnit(t)
			var args []string
			cert, private := certificate(t, "a")
			if clients.tls {
				certFile, keyFile := writeCertificate(t, cert, private)
				args = []string{"--tls-cert", certFile, "--tls-key", keyFile}
			}
			p := unit.start(t, dsn, args...)
			if _, addr, _ := strings.Cut(p.URL, "://"); addr != unit.addr {
				t.Fatalf("it serves at %s, and the socket is %s", addr, unit.addr)
			}
			var successes, slowest atomic.Int64
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
						began := time.Now()
						response, content, err := exchange(t.Context(), c, http.MethodPost, p.URL+"/v1/lipsync/create_lipsync", "{}", bearer(key))
						if err != nil || response.StatusCode != http.StatusOK {
							t.Errorf("%v %s", err, content)
							return
						}
						successes.Add(1)
						if took := int64(time.Since(began)); took > slowest.Load() {
							slowest.Store(took)
						}
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
				p = unit.start(t, dsn, args...)
			}
			close(stop)
			load.Wait()
			check(t, p.Stop())
			var created int64
			check(t, studiotest.OpenSQL(t, dsn).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM subjects").Scan(&created))
			if created != successes.Load() {
				t.Errorf("%d requests created %d records", successes.Load(), created)
			}
			t.Logf("%d requests, the slowest took %v", created, time.Duration(slowest.Load()))
		})
	}
}

// The address of the socket unit is that of the daemon, which tells systemd its state. A flag with
// another port leaves the socket without a server, which is logged.
func TestProcess_usesTheSocketUnit(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	unit := newSocketUnit(t)
	p := unit.start(t, dsn)
	if p.URL != "http://"+unit.addr || unit.state(t) != "READY=1" {
		t.Errorf("it serves at %s, and the socket is %s", p.URL, unit.addr)
	}
	if check(t, p.Stop()); unit.state(t) != "STOPPING=1" {
		t.Error("systemd does not know that it stops")
	}
	p = unit.start(t, dsn, "--addr=127.0.0.1:0")
	if !strings.Contains(p.Log(), `msg="a socket unit of systemd listens where no flag says so; nobody responds there" addresses=[`+unit.addr+"]") {
		t.Error(p.Log())
	}
	check(t, p.Stop())
}
