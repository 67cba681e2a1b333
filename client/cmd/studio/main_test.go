package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
)

// asStudio is the environment variable that makes the test binary run as the command.
const asStudio = "STUDIO_TEST_AS_STUDIO"

func TestMain(m *testing.M) {
	if os.Getenv(asStudio) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

var check = harness.Check

func try[T any](result T, err error) func(t testing.TB) T { return harness.Try(result, err) }

// newTest returns a program without environment variables and with its own directory. It hardly waits before
// a retry.
func newTest(t *testing.T) *program {
	t.Helper()
	return &program{
		Directory: filepath.Join(t.TempDir(), "avatarstudio"),
		retry:     client.Retry{Attempts: attempts, BaseDelay: time.Millisecond},
	}
}

// startService starts the service in memory, where records finish at once, and returns a program with a stored login.
func startService(t *testing.T) (*clienttest.Service, *program) {
	t.Helper()
	s := clienttest.New(t)
	s.AutoFinish()
	return s, loggedIn(t, s.URL, s.Workspace, s.Password)
}

func loggedIn(t *testing.T, url, workspace, password string) *program {
	t.Helper()
	p := newTest(t)
	p.must(t, password+"\n", "login", "--base-url", url+"/", "--email=ada@example.com", "--workspace", workspace, "--password-stdin")
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

// mustFail runs a command that has to fail with an exit code and one line of an error that contains want.
func (p *program) mustFail(t *testing.T, code int, want string, args ...string) {
	t.Helper()
	p.mustFailWith(t, "", code, want, args...)
}

func (p *program) mustFailWith(t *testing.T, stdin string, code int, want string, args ...string) {
	t.Helper()
	got, stdout, stderr := p.run(t, stdin, args...)
	if got != code || !strings.HasPrefix(stderr, "studio: ") || !strings.Contains(stderr, want) {
		t.Errorf("%v: exit code %d, %q, want %d and %q", args, got, stderr, code, want)
	}
	if strings.Contains(stderr, "\n") || stdout != "" || strings.Contains(stderr, "hunter2") {
		t.Errorf("%v: not one line of an error: %q %q", args, stdout, stderr)
	}
}

// wantParts checks that a text contains all parts.
func wantParts(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}

// running is a command that runs until it is stopped.
type running struct {
	out, errs *harness.Buffer
	url       string
}

// start runs a command that ends with the test.
func (p *program) start(t *testing.T, args ...string) *running {
	t.Helper()
	r, ended := &running{out: &harness.Buffer{}, errs: &harness.Buffer{}}, make(chan int, 1)
	ctx, stop := context.WithCancel(context.Background())
	one := *p
	one.Stdin, one.Stdout, one.Stderr = strings.NewReader(""), r.out, r.errs
	go func() { ended <- one.Run(ctx, append([]string{"studio"}, args...)) }()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != exitInterrupted {
			t.Errorf("%v ends with %d: %s", args, code, r.errs)
		}
	})
	return r
}

// startListening runs "studio listen" on a free port.
func (p *program) startListening(t *testing.T) *running {
	t.Helper()
	r := p.start(t, "listen", "--addr=127.0.0.1:0")
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
