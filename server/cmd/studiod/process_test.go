package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
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
	db, err := store.Open(t.Context(), dsn, store.Config{})
	check(t, err)
	service := studioOf(db)
	user, err := service.AddUser(t.Context(), "", testEmail, testPassword)
	check(t, err)
	secrets, err := service.WebhookSecrets(t.Context(), user.ID)
	check(t, err)
	check(t, db.Close())
	secret, err := webhook.ParseSecret(secrets[0])
	check(t, err)
	return secret
}

func startProcess(t *testing.T, dsn string, args ...string) *process {
	t.Helper()
	return startProcessBy(t, thisProgram(t), dsn, args...)
}

func thisProgram(t *testing.T) []string {
	t.Helper()
	program, err := os.Executable()
	check(t, err)
	return []string{program}
}

// startProcessBy is like startProcess, with a command that becomes the daemon.
func startProcessBy(t *testing.T, program []string, dsn string, args ...string) *process {
	t.Helper()
	p := &process{t: t, Daemon: harness.RunDaemon(t, serveBy(program, dsn, args...))}
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

// startWorker starts "studiod work" and waits until it works.
func startWorker(t *testing.T, program []string, args ...string) *harness.Process {
	t.Helper()
	command := exec.Command(program[0], slices.Concat(program[1:], []string{"work", "--log-format", "text"}, args)...)
	command.Env = append(os.Environ(), asDaemon+"=1")
	p := harness.Run(t, command)
	check(t, p.AwaitLog("msg=working"))
	return p
}

func TestDaemon_stopTimeoutIsKept(t *testing.T) {
	t.Parallel()
	cfg := daemonConfig{
		Addr: "127.0.0.1:0", Database: studiotest.NewSQLite(t), Passwords: testPasswords, AllowHTTP: true, AllowNetworks: loopback(), Render: renderConfig{Time: time.Hour},
		StopTimeout: 300 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	}
	d, err := openDaemon(t.Context(), cfg)
	check(t, err)
	user, err := d.studio.AddUser(t.Context(), "", testEmail, testPassword)
	check(t, err)
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	defer hung.Close()
	defer close(release)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.run(ctx) }()
	_, err = d.studio.CreateAvatar(t.Context(), studio.Creation{
		UserID: user.ID, Request: []byte(`{}`), Webhook: studio.Registration{URL: hung.URL, Enabled: true},
	})
	check(t, err)
	<-arrived
	slow, err := new(net.Dialer).DialContext(t.Context(), "tcp", d.listener.Addr().String())
	check(t, err)
	defer func() { _ = slow.Close() }()
	_, err = slow.Write([]byte("POST /users/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"))
	check(t, err)
	stop()
	select {
	case err := <-ended:
		check(t, err)
	case <-time.After(harness.Timeout):
		t.Fatal("the daemon does not stop")
	}
}
