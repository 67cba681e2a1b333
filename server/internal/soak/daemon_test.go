package soak_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

const (
	email    = "ada@example.com"
	password = "correct horse battery staple"
)

// deployment is a database with one user, and a client that connects to the daemon that was started last.
type deployment struct {
	t      *testing.T
	dsn    string
	userID string
	secret webhook.Secret
	client *client.Client

	seeded  int // URLs so far
	address atomic.Pointer[string]
	written chan struct{} // gets a value after each request is written, if its buffer is empty
}

func deploy(t *testing.T, dsn string) *deployment {
	t.Helper()
	db, err := store.Open(t.Context(), dsn, store.Config{})
	check(t, err)
	cfg := studiotest.Config(db, time.Now)
	cfg.Passwords = studiotest.WeakPasswords{}
	service := studio.New(cfg)
	user, err := service.AddUser(t.Context(), "", email, password)
	check(t, err)
	secrets, err := service.WebhookSecrets(t.Context(), user.ID)
	check(t, err)
	check(t, db.Close())
	d := &deployment{t: t, dsn: dsn, userID: user.ID, written: make(chan struct{}, 1)}
	d.secret, err = webhook.ParseSecret(secrets[0])
	check(t, err)
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, *d.address.Load())
	}}
	t.Cleanup(transport.CloseIdleConnections)
	d.client, err = client.New(client.Config{
		BaseURL: "http://studio.example.com", AllowHTTP: true, Email: email, Password: password,
		HTTPClient: &http.Client{Transport: signallingTransport{transport, d.written}}, Retry: client.Retry{Attempts: 1},
	})
	check(t, err)
	return d
}

// eachDatabase runs a test on SQLite and on PostgreSQL.
func eachDatabase(t *testing.T, test func(t *testing.T, d *deployment)) {
	t.Helper()
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) { test(t, deploy(t, dsn)) })
}

// skipShortOnPostgres skips a test on PostgreSQL in short mode.
func (d *deployment) skipShortOnPostgres(t *testing.T, reason string) {
	t.Helper()
	if testing.Short() && !strings.HasPrefix(d.dsn, "sqlite:") {
		t.Skip("not in short mode on PostgreSQL: " + reason)
	}
}

// signallingTransport sends a value to written after each request is written, without blocking.
type signallingTransport struct {
	http.RoundTripper
	written chan struct{}
}

func (r signallingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
		select {
		case r.written <- struct{}{}:
		default:
		}
	}})
	return r.RoundTripper.RoundTrip(request.WithContext(ctx))
}

// createAvatar creates an avatar with an idempotency key, whose events are sent to url.
func (d *deployment) createAvatar(ctx context.Context, key, url string) (*gen.Avatar, error) {
	return d.client.CreateAvatar(ctx, gen.CreateAvatarRequest{
		Title: gen.Value(key), BaseVideoURL: gen.Value("https://media.example.com/ada.mp4"),
		WebhookData: gen.Value(gen.WebhookData{WebhookURL: gen.Value(url)}), Webhook: gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)}),
	}, client.WithIdempotencyKey(key))
}

// login makes the client get a token. The token stays valid when the daemon restarts.
func (d *deployment) login() {
	d.t.Helper()
	_, err := d.client.GetAvatar(d.t.Context(), uuid.NewString())
	if err == nil || !strings.Contains(err.Error(), "404") {
		d.t.Fatalf("reading an unknown avatar returns %v, want 404", err)
	}
}

const (
	// inFlight bounds the concurrent attempts of a daemon to one origin.
	inFlight = 4
	// maxUnrecorded bounds the attempts whose outcome a daemon has not recorded. It is the number of workers,
	// because an attempt that is being recorded no longer counts towards inFlight.
	maxUnrecorded = 256
)

// daemon is a process of studiod.
type daemon struct {
	t      *testing.T
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // set before exited is closed

	mu      sync.Mutex
	lines   []string // of the log
	changes broadcaster
}

// start starts a daemon that simulates renderings in no time, and waits until it serves.
func (d *deployment) start(args ...string) *daemon {
	d.t.Helper()
	path, err := daemonProgram()
	check(d.t, err)
	return d.startAs([]string{path}, d.dsn, args...)
}

func (d *deployment) startAs(command []string, dsn string, args ...string) *daemon {
	d.t.Helper()
	command = slices.Concat(command, []string{
		"serve", "--log-format", "text", "--addr", "127.0.0.1:0", "--db", dsn, "--docs=false", "--allow-http-webhooks", "--webhook-allow", "127.0.0.0/8",
		"--renderer=simulate:0s",
	}, args)
	p := d.launch(command)
	serving := p.waitLog("msg=serving")
	address := regexp.MustCompile(`url=http://(\S+)`).FindStringSubmatch(serving)[1]
	d.address.Store(&address)
	return p
}

// startWorker starts "studiod work", and waits until it is ready.
func (d *deployment) startWorker(args ...string) *daemon {
	d.t.Helper()
	path, err := daemonProgram()
	check(d.t, err)
	p := d.launch(slices.Concat([]string{path, "work", "--log-format", "text", "--db", d.dsn, "--media", "file:" + d.t.TempDir(), "--renderer", "simulate"}, args))
	p.waitLog("msg=working")
	return p
}

// launch starts a process that is killed at the end of the test.
func (d *deployment) launch(command []string) *daemon {
	d.t.Helper()
	p := &daemon{t: d.t, exited: make(chan struct{}), cmd: exec.CommandContext(context.Background(), command[0], command[1:]...)}
	stderr, err := p.cmd.StderrPipe()
	check(d.t, err)
	check(d.t, p.cmd.Start())
	d.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // fails if it has exited
		<-p.exited
		if d.t.Failed() {
			d.t.Logf("the last log lines of the daemon:\n%s", strings.Join(p.lines[max(len(p.lines)-40, 0):], "\n"))
		}
	})
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, lines.Text())
			p.changes.broadcast()
			p.mu.Unlock()
		}
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	return p
}

// waitLog waits for a log line that contains text and returns the first one.
func (p *daemon) waitLog(text string) (line string) {
	p.t.Helper()
	return p.waitLogAfter(0, text)
}

// lineCount returns the number of log lines so far.
func (p *daemon) lineCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines)
}

// waitLogAfter is waitLog without the first n lines.
func (p *daemon) waitLogAfter(n int, text string) (line string) {
	p.t.Helper()
	ctx, cancel := waitContext(p.t)
	defer cancel()
	err := p.changes.wait(ctx, &p.mu, func() bool {
		for ; n < len(p.lines); n++ {
			if strings.Contains(p.lines[n], text) {
				line = p.lines[n]
				return true
			}
		}
		return false
	})
	if err != nil {
		p.t.Fatalf("the daemon does not log %q", text)
	}
	return line
}

func (p *daemon) logged(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.lines, func(line string) bool { return strings.Contains(line, text) })
}

// kill sends SIGKILL and waits until the process has exited.
func (p *daemon) kill() {
	p.t.Helper()
	check(p.t, p.cmd.Process.Kill())
	<-p.exited
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		p.t.Fatalf("the daemon exited before the kill: %v", p.err)
	}
}

func (p *daemon) signal(signal os.Signal) {
	p.t.Helper()
	check(p.t, p.cmd.Process.Signal(signal))
}

// freeze sends SIGSTOP and waits until all threads of the process are stopped.
func (p *daemon) freeze() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	eventually(p.t, "the daemon is frozen", func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
		check(p.t, err)
		return len(threads) > 0 && !slices.ContainsFunc(threads, func(thread string) bool {
			stat, err := os.ReadFile(thread)
			check(p.t, err)
			return !bytes.Contains(stat, []byte(") T ")) // the state follows the name
		})
	})
}

// stop sends SIGTERM and waits until the process has exited without an error.
func (p *daemon) stop() {
	p.t.Helper()
	check(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	p.waitExit()
}

func (p *daemon) waitExit() {
	p.t.Helper()
	ctx, cancel := waitContext(p.t)
	defer cancel()
	select {
	case <-p.exited:
		check(p.t, p.err)
	case <-ctx.Done():
		p.t.Fatal("the daemon does not exit")
	}
}

// peakMemory returns the peak resident memory of the process, in bytes.
func (p *daemon) peakMemory() int {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	check(p.t, err)
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		p.t.Fatal("/proc/PID/status does not contain VmHWM")
	}
	kilobytes, err := strconv.Atoi(string(found[1]))
	check(p.t, err)
	return kilobytes << 10
}
