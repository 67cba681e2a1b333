package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/avatarstudio/avatarstudio/api/tools/gobuild"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/webhook"
)

// asStudio is the environment variable that makes the test binary run as the command.
const asStudio = "STUDIO_TEST_AS_STUDIO"

const (
	testEmail    = "ada@example.com"
	testPassword = "correct horse battery staple"
)

var studiod = sync.OnceValues(func() (string, error) {
	return gobuild.Program(context.Background(), "github.com/avatarstudio/avatarstudio/server/cmd/studiod")
})

func TestMain(m *testing.M) {
	if os.Getenv(asStudio) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

var check = harness.Check

// accounts is a database with a user who is a member of a workspace with two projects.
type accounts struct {
	database          []byte // an SQLite file
	workspace, secret string
}

// newAccounts makes the database once for all tests, because it takes five processes.
var newAccounts = sync.OnceValues(func() (a accounts, err error) {
	program, err := studiod()
	if err != nil {
		return a, err
	}
	directory, err := os.MkdirTemp("", "")
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	file := filepath.Join(directory, "studio.db")
	manage := func(stdin string, args ...string) string {
		command := exec.CommandContext(context.Background(), program, append(args, "--db=sqlite:"+file)...)
		command.Stdin = strings.NewReader(stdin)
		output, failure := command.Output()
		err = errors.Join(err, failure)
		return strings.TrimSpace(string(output))
	}
	manage(testPassword, "user", "add", testEmail)
	a.workspace = manage("", "workspace", "add", "Team")
	manage("", "workspace", "member", a.workspace, testEmail)
	manage(`{"data":[
		{"project_id":"01936f3e-7d00-7c4d-8e55-3a7a2b1c0d20","title":"One\u001b[2J","status":"draft","created_at":"2026-01-12T11:30:00Z"},
		{"project_id":"01936f3e-7d00-7c4d-8e55-3a7a2b1c0d21","later":[1]}
	]}`, "project", "import", "--workspace", a.workspace, "-")
	a.secret = manage("", "secret", "show", testEmail)
	if err == nil {
		a.database, err = os.ReadFile(file)
	}
	return a, err
})

// service is a daemon process with the accounts.
type service struct {
	url, workspace    string
	program, database string
	secret            webhook.Secret
}

func startService(t *testing.T, args ...string) *service {
	t.Helper()
	program, err := studiod()
	check(t, err)
	a, err := newAccounts()
	check(t, err)
	directory := t.TempDir()
	s := &service{workspace: a.workspace, program: program}
	s.secret, err = webhook.ParseSecret(a.secret)
	check(t, err)
	db := filepath.Join(directory, "studio.db")
	s.database = "sqlite:" + db
	check(t, os.WriteFile(db, a.database, 0o600))

	daemon := harness.RunDaemon(t, harness.Serve(context.Background(), []string{program}, "sqlite:"+db, append([]string{"--renderer=simulate:10ms"}, args...)...))
	t.Cleanup(func() { check(t, daemon.End(os.Interrupt)) })
	s.url = daemon.URL
	return s
}

// newTest returns a program without environment variables and with its own directory. It hardly waits before
// a retry.
func newTest(t *testing.T) *program {
	t.Helper()
	return &program{
		Directory: filepath.Join(t.TempDir(), "avatarstudio"),
		retry:     client.Retry{Attempts: attempts, BaseDelay: time.Millisecond},
	}
}

// loggedIn returns a program with a stored login.
func (s *service) loggedIn(t *testing.T) *program {
	t.Helper()
	p := newTest(t)
	p.must(t, testPassword+"\n", "login", "--base-url", s.url+"/", "--email", testEmail, "--workspace", s.workspace, "--password-stdin")
	return p
}

// run runs a command in a copy of p and returns its exit code and output.
func (p *program) run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return p.runWith(t.Context(), stdin, args...)
}

func (p *program) runWith(ctx context.Context, stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	one := *p
	one.Stdin, one.Stdout, one.Stderr = strings.NewReader(stdin), &out, &errs
	code = one.Run(ctx, append([]string{"studio"}, args...))
	return code, strings.TrimSuffix(out.String(), "\n"), strings.TrimSpace(errs.String())
}

// must runs a command that has to succeed, and returns its output.
func (p *program) must(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	code, stdout, stderr := p.run(t, stdin, args...)
	if code != exitOK || stderr != "" {
		t.Fatalf("%v: exit code %d, %s", args, code, stderr)
	}
	return stdout
}

// mustFail runs a command that has to fail with an exit code and an error that contains want.
func (p *program) mustFail(t *testing.T, code int, want string, args ...string) {
	t.Helper()
	if got, _, stderr := p.run(t, "", args...); got != code || !strings.Contains(stderr, want) {
		t.Errorf("%v: exit code %d, %s", args, got, stderr)
	}
}

// running is a command that runs until it is stopped.
type running struct {
	out, errs *harness.Buffer
	url       string
	stop      context.CancelFunc
	ended     chan int
}

// start runs a command that ends with the test.
func (p *program) start(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{out: &harness.Buffer{}, errs: &harness.Buffer{}, ended: make(chan int, 1)}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	one := *p
	one.Stdin, one.Stdout, one.Stderr = strings.NewReader(""), r.out, r.errs
	go func() { r.ended <- one.Run(ctx, append([]string{"studio"}, args...)) }()
	t.Cleanup(func() {
		stop()
		if code := <-r.ended; code != exitInterrupted {
			t.Errorf("%v ends with %d: %s", args, code, r.errs)
		}
	})
	return r
}

// startListening runs "studio listen" on a free port.
func (p *program) startListening(t *testing.T, args ...string) *running {
	t.Helper()
	r := p.start(t, append([]string{"listen", "--addr=127.0.0.1:0"}, args...)...)
	harness.Eventually(t, "listening", func() bool {
		if found := regexp.MustCompile(`listening on (\S+)\n`).FindStringSubmatch(r.errs.String()); found != nil {
			r.url = found[1]
		}
		return r.url != ""
	})
	return r
}

// startFake starts a server for responses that the real service does not give.
func startFake(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	fake := httptest.NewServer(handler)
	t.Cleanup(fake.Close)
	return fake.URL
}

// answering returns a program with a token for a service that responds to every request with JSON.
func answering(t *testing.T, body func(*http.Request) string) *program {
	t.Helper()
	p := newTest(t)
	p.Env = client.Config{Token: "a", Workspace: "films", BaseURL: startFake(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body(r))
	})}
	return p
}
