package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/internal/api/passwords"
	"github.com/avatarstudio/avatarstudio/server/internal/render"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/browsertest"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// asDaemon is an environment variable that makes the test program run as the daemon, for tests that kill
// processes.
const asDaemon = "STUDIOD_TEST_AS_DAEMON"

// withStrongPasswords is an environment variable that makes a daemon in its own process hash passwords like studiod.
// All others have weak passwords, because hashing would take a third of the CPU time.
const withStrongPasswords = "STUDIOD_TEST_STRONG_PASSWORDS"

var testPasswords studio.Passwords = studiotest.WeakPasswords{}

func TestMain(m *testing.M) {
	render.RunLimited()
	_ = os.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50") // milliseconds after which spans are sent
	if len(os.Args) == 3 && os.Args[1] == asRenderer {
		renderAsTold(os.Args[2])
		return
	}
	if len(os.Args) == 2 && os.Args[1] == asAttacker {
		attack()
		return
	}
	if os.Getenv(withStrongPasswords) != "" {
		testPasswords = passwords.New()
	}
	if os.Getenv(asDaemon) != "" {
		os.Exit(run(context.Background(), testPasswords, os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	for _, variable := range os.Environ() { // of an operator who runs the tests
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "STUDIO_") && !strings.HasPrefix(name, "STUDIO_TEST_") {
			_ = os.Unsetenv(name)
		}
	}
	goleak.VerifyTestMain(browsertest.Main{M: m})
}

const (
	testEmail    = "ada@example.com"
	testPassword = "correct horse battery staple"
)

var check = harness.Check

func try[T any](result T, err error) func(t testing.TB) T { return harness.Try(result, err) }

// testDaemon is a running daemon with one user, one workspace, and a client of that user.
type testDaemon struct {
	*daemon
	client    *client.Client
	user      studio.User
	workspace string
	secret    webhook.Secret
	log       *harness.Buffer
}

// startDaemon starts a daemon on a free port with a new database. Responses that the document forbids
// become 500.
func startDaemon(t *testing.T, change ...func(*daemonConfig)) *testDaemon {
	t.Helper()
	log := &harness.Buffer{}
	cfg := daemonConfig{
		Addr: "127.0.0.1:0", Database: studiotest.NewSQLite(t), Passwords: studiotest.WeakPasswords{}, AutoConsent: true, AllowHTTP: true, AllowNetworks: loopback(),
		ValidateResponses: true, StopTimeout: stopTimeout, Logger: slog.New(slog.NewTextHandler(log, nil)),
	}
	for _, f := range change {
		f(&cfg)
	}
	if cfg.Media == "" && !isSQLite(cfg.Database) { // not that of whoever runs the tests
		cfg.Media = "file:" + t.TempDir()
	}
	t.Cleanup(func() { // after the stop
		if t.Failed() {
			t.Log(log)
		}
	})
	d, _ := runDaemon(t, cfg)
	s := &testDaemon{daemon: d, log: log}
	s.user = try(d.studio.AddUser(t.Context(), "", testEmail, testPassword))(t)
	s.workspace = try(d.studio.AddWorkspace(t.Context(), "", "Team"))(t).ID
	check(t, d.studio.AddMember(t.Context(), s.workspace, testEmail))
	secrets := try(d.studio.WebhookSecrets(t.Context(), s.user.ID))(t)
	s.secret = try(webhook.ParseSecret(secrets[0]))(t)
	s.client = newClient(t, client.Config{
		BaseURL: d.url(), Email: testEmail, Password: testPassword, Workspace: s.workspace,
	})
	return s
}

// runDaemon runs a daemon until stop is called, or the test ends.
func runDaemon(t *testing.T, cfg daemonConfig) (d *daemon, stop func()) {
	t.Helper()
	d = try(openDaemon(t.Context(), cfg))(t)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- d.run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		harness.WantError(t, <-stopped, nil) // FailNow in an OnceFunc would panic
	})
	t.Cleanup(stop)
	return d, stop
}

// newClient returns a client whose connections are closed after the test. Each of its requests has the headers.
func newClient(t *testing.T, cfg client.Config, headers ...[2]string) *client.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	checked := studiotest.NewResponseChecker(t).Transport(t, transport)
	cfg.Transport = roundTripper(func(request *http.Request) (*http.Response, error) {
		request = request.Clone(request.Context())
		for _, header := range headers {
			request.Header.Set(header[0], header[1])
		}
		return checked.RoundTrip(request)
	})
	return try(client.New(cfg))(t)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// inbox is a webhook receiver on its own server. It stores the events it receives.
type inbox struct {
	url string

	mu     sync.Mutex
	bodies []string
}

func startInbox(t *testing.T, secret webhook.Secret) *inbox {
	t.Helper()
	in := &inbox{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err := errors.Join(err, webhook.Verify(r.Header, body, time.Now(), secret)); err != nil {
			t.Errorf("the inbox is sent %s: %v", body, err)
		}
		in.mu.Lock()
		in.bodies = append(in.bodies, string(body))
		in.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(server.Close)
	in.url = server.URL + "/hooks?key=canary-query"
	return in
}

// of returns the bodies about an id, in order of arrival.
func (in *inbox) of(id string) []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	var bodies []string
	for _, body := range in.bodies {
		if strings.Contains(body, id) {
			bodies = append(bodies, body)
		}
	}
	return bodies
}

func studioOf(db *store.Store) *studio.Service {
	return studio.New(studio.Config{Store: db, Passwords: testPasswords})
}
