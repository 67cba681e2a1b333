package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// process is a daemon in its own process.
type process struct {
	*harness.Daemon
	t      *testing.T
	client *client.Client
}

// prepareDatabase creates a database with one user and returns the user's secret.
func prepareDatabase(t *testing.T, dsn string) webhook.Secret {
	t.Helper()
	db := try(store.Open(t.Context(), dsn, store.Config{}))(t)
	service := studioOf(db)
	user := try(service.AddUser(t.Context(), "", testEmail, testPassword))(t)
	secrets := try(service.WebhookSecrets(t.Context(), user.ID))(t)
	check(t, db.Close())
	return try(webhook.ParseSecret(secrets[0]))(t)
}

func startProcess(t *testing.T, dsn string, args ...string) *process {
	t.Helper()
	return startProcessBy(t, thisProgram(t), dsn, args...)
}

func thisProgram(t *testing.T) []string {
	t.Helper()
	return []string{try(os.Executable())(t)}
}

// startProcessBy is like startProcess, with a command that becomes the daemon.
func startProcessBy(t *testing.T, program []string, dsn string, args ...string) *process {
	t.Helper()
	command := serveBy(program, dsn, args...)
	command.Env = append(command.Env, "XDG_DATA_HOME="+t.TempDir()) // that of who runs the tests has their files
	p := &process{t: t, Daemon: harness.RunDaemon(t, command)}
	p.client = newClient(t, client.Config{BaseURL: p.URL, Email: testEmail, Password: testPassword})
	return p
}

// serveBy returns the command line of a daemon. The daemon does not serve the API reference, which takes half of the
// CPU time of a start.
func serveBy(program []string, dsn string, args ...string) *exec.Cmd {
	command := harness.Serve(context.Background(), program, dsn, args...)
	command.Env = append(os.Environ(), asDaemon+"=1")
	return command
}

// runPrinting runs a daemon, and returns what it prints besides its log when it has started.
func runPrinting(t *testing.T, command *exec.Cmd) (p *harness.Daemon, printed string) {
	t.Helper()
	output := try(os.Create(filepath.Join(t.TempDir(), "printed")))(t)
	command.Stdout = output
	p = harness.RunDaemon(t, command)
	text, err := os.ReadFile(output.Name())
	check(t, errors.Join(err, output.Close()))
	return p, string(text)
}

func TestDaemon_stopTimeoutIsKept(t *testing.T) {
	t.Parallel()
	arrived, release, stopping := make(chan struct{}, 1), make(chan struct{}), time.Time{}
	hung := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	t.Cleanup(func() { // after the daemon has stopped
		if took := time.Since(stopping); took > harness.Timeout { // the rendering would take an hour
			t.Errorf("the daemon stops after %v", took)
		}
		close(release)
		hung.Close()
	})
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.Render.Time, cfg.StopTimeout = time.Hour, 300*time.Millisecond })
	try(d.client.CreateAvatar(t.Context(), avatarRequest("Ada", hung.URL)))(t)
	<-arrived
	slow := try(new(net.Dialer).DialContext(t.Context(), "tcp", d.listener.Addr().String()))(t)
	t.Cleanup(func() { check(t, slow.Close()) })
	try(slow.Write([]byte("POST /users/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{")))(t)
	stopping = time.Now()
}
