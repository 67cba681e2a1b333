package main

import (
	"fmt"
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

	"golang.org/x/sys/unix"

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// serviceManager keeps the sockets of a service like systemd.
type serviceManager struct {
	path string

	mu     sync.Mutex
	names  []string
	stored []*os.File
	states []string
}

func startServiceManager(t *testing.T) *serviceManager {
	t.Helper()
	dir, err := os.MkdirTemp("", "studiod-notify-") //nolint:usetesting // the path of a socket must be short
	check(t, err)
	m := &serviceManager{path: filepath.Join(dir, "notify")}
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path, Net: "unixgram"})
	check(t, err)
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = socket.Close()
		<-done
		for _, file := range m.stored {
			_ = file.Close()
		}
		check(t, os.RemoveAll(dir))
	})
	go func() {
		defer close(done)
		for err := error(nil); err == nil; {
			err = m.receive(socket)
		}
	}()
	return m
}

func (m *serviceManager) receive(socket *net.UnixConn) error {
	text, control := make([]byte, 512), make([]byte, 512)
	n, c, _, _, err := socket.ReadMsgUnix(text, control)
	if err != nil {
		return err
	}
	var files []*os.File
	messages, _ := unix.ParseSocketControlMessage(control[:c])
	for i := range messages {
		fds, _ := unix.ParseUnixRights(&messages[i])
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "stored"))
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	state, name, _ := strings.Cut(string(text[:n]), "\nFDNAME=")
	m.states = append(m.states, state)
	switch state {
	case "FDSTORE=1":
		m.names, m.stored = append(m.names, name), append(m.stored, files...)
		return nil
	case "FDSTOREREMOVE=1":
		if i := slices.Index(m.names, name); i >= 0 {
			_ = m.stored[i].Close()
			m.names, m.stored = slices.Delete(m.names, i, i+1), slices.Delete(m.stored, i, i+1)
		}
	}
	for _, file := range files { // of BARRIER=1
		_ = file.Close()
	}
	return nil
}

// start starts a process of the service, with the sockets that the last one left.
func (m *serviceManager) start(t *testing.T, dsn string, args ...string) *harness.Daemon {
	t.Helper()
	program := append([]string{"sh", "-c", `LISTEN_PID=$$ exec "$@"`, "sh"}, thisProgram(t)...)
	command := serveBy(program, dsn, append([]string{"--renderer=simulate:0s", "--admin-addr=off"}, args...)...)
	m.mu.Lock()
	command.ExtraFiles = slices.Clone(m.stored)
	command.Env = append(command.Env, "NOTIFY_SOCKET="+m.path, fmt.Sprint("LISTEN_FDS=", len(m.stored)), "LISTEN_FDNAMES="+strings.Join(m.names, ":"))
	m.mu.Unlock()
	return harness.RunDaemon(t, command)
}

// A restart fails no request: what arrives meanwhile waits for the next process. The clients retry nothing that a server
// may have received.
func TestProcess_restartFailsNoRequest(t *testing.T) {
	t.Parallel()
	for name, clients := range map[string]struct{ tls, http2 bool }{"HTTP": {}, "HTTPS": {tls: true}, "HTTP/2": {true, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := studiotest.NewEmptySQLite(t)
			prepareDatabase(t, dsn)
			key := regexp.MustCompile(`avs_\w+`).FindString(must(t, "", "key", "add", "--db="+dsn, testEmail, "load"))
			manager := startServiceManager(t)
			var args []string
			cert, private := certificate(t, "a")
			if clients.tls {
				certFile, keyFile := writeCertificate(t, cert, private)
				args = []string{"--tls-cert", certFile, "--tls-key", keyFile}
			}
			p := manager.start(t, dsn, args...)
			_, addr, _ := strings.Cut(p.URL, "://")
			args = append(args, "--addr", addr)

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
			for range 3 {
				before := successes.Load()
				harness.Eventually(t, "requests", func() bool { return successes.Load() > before+20 || t.Failed() })
				check(t, p.Stop())
				p = manager.start(t, dsn, args...)
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

// A new address replaces one on the same port that systemd keeps.
func TestProcess_keptSocketIsReplaced(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	manager := startServiceManager(t)
	p := manager.start(t, dsn)
	check(t, p.Stop())
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(p.URL, "http://"))
	p = manager.start(t, dsn, "--addr", "0.0.0.0:"+port)
	response, _, err := exchange(t.Context(), http.DefaultClient, http.MethodGet, p.URL+"/", "")
	check(t, err)
	if response.StatusCode != http.StatusOK || strings.Contains(p.Log(), "level=WARN msg=\"a socket unit") {
		t.Errorf("%s\n%s", response.Status, p.Log())
	}
	check(t, p.Stop())
	manager.mu.Lock()
	defer manager.mu.Unlock()
	want := []string{"FDSTORE=1", "READY=1", "STOPPING=1", "FDSTOREREMOVE=1", "BARRIER=1", "FDSTORE=1", "READY=1", "STOPPING=1"}
	if !slices.Equal(manager.states, want) {
		t.Errorf("the notifications are %q", manager.states)
	}
}
