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
	"github.com/avatarstudio/avatarstudio/server/internal/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

const (
	email    = "ada@example.com"
	password = "correct horse battery staple"
)

// deployment is a database with one user, and a client that finds the daemon that was started last.
type deployment struct {
	t      *testing.T
	dsn    string
	userID string
	secret webhook.Secret
	client *client.Client

	seeded  int // URLs
	address atomic.Pointer[string]
	sent    chan struct{} // one value for each request that has left, while there is room
}

func deploy(t *testing.T, dsn string) *deployment {
	t.Helper()
	db, err := store.Open(t.Context(), dsn, store.Config{})
	check(t, err)
	cfg := studiotest.Config(db, time.Now)
	cfg.Passwords = auth.NewPasswords()
	service := studio.New(cfg)
	user, err := service.AddUser(t.Context(), "", email, password)
	check(t, err)
	secrets, err := service.WebhookSecrets(t.Context(), user.ID)
	check(t, err)
	check(t, db.Close())
	d := &deployment{t: t, dsn: dsn, userID: user.ID, sent: make(chan struct{}, 1)}
	d.secret, err = webhook.ParseSecret(secrets[0])
	check(t, err)
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, *d.address.Load())
	}}
	t.Cleanup(transport.CloseIdleConnections)
	d.client, err = client.New(client.Config{
		BaseURL: "http://studio.example.com", AllowHTTP: true, Email: email, Password: password,
		HTTPClient: &http.Client{Transport: traced{transport, d.sent}}, Retry: client.Retry{Attempts: 1},
	})
	check(t, err)
	return d
}

// eachDatabase runs a test on every kind of database.
func eachDatabase(t *testing.T, test func(t *testing.T, d *deployment)) {
	t.Helper()
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) { test(t, deploy(t, dsn)) })
}

// traced is a transport that tells when a request has been written.
type traced struct {
	http.RoundTripper
	sent chan struct{}
}

func (r traced) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
		select {
		case r.sent <- struct{}{}:
		default:
		}
	}})
	return r.RoundTripper.RoundTrip(request.WithContext(ctx))
}

// createAvatar creates an avatar by a key, whose events go to url.
func (d *deployment) createAvatar(ctx context.Context, key, url string) (*gen.Avatar, error) {
	return d.client.CreateAvatar(ctx, gen.CreateAvatarRequest{
		Title: gen.Value(key), BaseVideoURL: gen.Value("https://media.example.com/ada.mp4"),
		WebhookData: gen.Value(gen.WebhookData{WebhookURL: gen.Value(url)}), Webhook: gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)}),
	}, client.WithIdempotencyKey(key))
}

// login makes the client have a token, which a restart of the daemon does not end.
func (d *deployment) login() {
	d.t.Helper()
	_, err := d.client.GetAvatar(d.t.Context(), uuid.NewString())
	if err == nil || !strings.Contains(err.Error(), "404") {
		d.t.Fatalf("an avatar that is not there: %v", err)
	}
}

// inFlight is what a daemon sends at once to one origin. workers is what it sends to all and has not
// recorded: a record does not count for the origin any more.
const inFlight = 4

func (d *deployment) workers() int { return 256 }

// daemon is a process.
type daemon struct {
	t     *testing.T
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // once it has ended

	mu    sync.Mutex
	lines []string
	bell  bell
}

// start starts a daemon that renders at once, and waits until it serves.
func (d *deployment) start(args ...string) *daemon {
	d.t.Helper()
	path, err := program()
	check(d.t, err)
	return d.startAs([]string{path}, d.dsn, args...)
}

func (d *deployment) startAs(command []string, dsn string, args ...string) *daemon {
	d.t.Helper()
	command = slices.Concat(command, []string{
		"serve", "--log-format", "text", "--addr", "127.0.0.1:0", "--db", dsn, "--allow-http-webhooks", "--webhook-allow", "127.0.0.0/8",
		"--render-time", "0s",
	}, args)
	p := d.launch(command)
	serving := p.wait("msg=serving")
	address := regexp.MustCompile(`url=http://(\S+)`).FindStringSubmatch(serving)[1]
	d.address.Store(&address)
	return p
}

// work starts a worker, and waits until it works.
func (d *deployment) work(args ...string) *daemon {
	d.t.Helper()
	path, err := program()
	check(d.t, err)
	p := d.launch(slices.Concat([]string{path, "work", "--log-format", "text", "--db", d.dsn, "--media", "file:" + d.t.TempDir(), "--renderer", "simulate"}, args))
	p.wait("msg=working")
	return p
}

// launch starts a process that ends with the test.
func (d *deployment) launch(command []string) *daemon {
	d.t.Helper()
	p := &daemon{t: d.t, ended: make(chan struct{}), cmd: exec.CommandContext(context.Background(), command[0], command[1:]...)}
	stderr, err := p.cmd.StderrPipe()
	check(d.t, err)
	check(d.t, p.cmd.Start())
	d.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // fails when it has ended
		<-p.ended
		if d.t.Failed() {
			d.t.Logf("the daemon's last lines:\n%s", strings.Join(p.lines[max(len(p.lines)-40, 0):], "\n"))
		}
	})
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, lines.Text())
			p.bell.ring()
			p.mu.Unlock()
		}
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p
}

// wait returns the first line that contains text, once it is there.
func (p *daemon) wait(text string) (line string) {
	p.t.Helper()
	return p.waitAfter(0, text)
}

// logs is how many lines there are.
func (p *daemon) logs() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines)
}

// waitAfter is wait for a line after the first ones.
func (p *daemon) waitAfter(looked int, text string) (line string) {
	p.t.Helper()
	ctx, cancel := untilDone(p.t)
	defer cancel()
	err := p.bell.wait(ctx, &p.mu, func() bool {
		for ; looked < len(p.lines); looked++ {
			if strings.Contains(p.lines[looked], text) {
				line = p.lines[looked]
				return true
			}
		}
		return false
	})
	if err != nil {
		p.t.Fatalf("the daemon does not log %s", text)
	}
	return line
}

func (p *daemon) logged(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.lines, func(line string) bool { return strings.Contains(line, text) })
}

// kill ends the process as a crash would.
func (p *daemon) kill() {
	p.t.Helper()
	check(p.t, p.cmd.Process.Kill())
	<-p.ended
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		p.t.Fatalf("the daemon ended before it was killed: %v", p.err)
	}
}

func (p *daemon) signal(signal os.Signal) {
	p.t.Helper()
	check(p.t, p.cmd.Process.Signal(signal))
}

// freeze stops the process until SIGCONT, and returns when each of its threads has stopped: what happens
// next finds none of them at work.
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

// stop ends the process as an operator does.
func (p *daemon) stop() {
	p.t.Helper()
	check(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	p.waitEnd()
}

func (p *daemon) waitEnd() {
	p.t.Helper()
	ctx, cancel := untilDone(p.t)
	defer cancel()
	select {
	case <-p.ended:
		check(p.t, p.err)
	case <-ctx.Done():
		p.t.Fatal("the daemon does not stop")
	}
}

// peakMemory is the most memory that the process has had, in bytes.
func (p *daemon) peakMemory() int {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	check(p.t, err)
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		p.t.Fatal("the system does not say how much memory a process has")
	}
	kilobytes, err := strconv.Atoi(string(found[1]))
	check(p.t, err)
	return kilobytes << 10
}
