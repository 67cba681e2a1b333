package soak_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
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

	seeded    int // URLs so far
	transport http.Transport
	written   chan struct{} // gets a value after each request is written, if its buffer is empty

	requests sync.RWMutex // read-locked during a request
	hosts    []string     // of the daemons that get requests, in any order
	mu       sync.Mutex
	conns    map[net.Conn]bool
}

func deploy(t *testing.T, dsn string) *deployment {
	t.Helper()
	db := try(store.Open(t.Context(), dsn, store.Config{}))(t)
	cfg := studiotest.Config(db, time.Now)
	cfg.Passwords = studiotest.WeakPasswords{}
	service := studio.New(cfg)
	user := try(service.AddUser(t.Context(), "", email, password))(t)
	secrets := try(service.WebhookSecrets(t.Context(), user.ID))(t)
	check(t, db.Close())
	d := &deployment{t: t, dsn: dsn, userID: user.ID, written: make(chan struct{}, 1), conns: make(map[net.Conn]bool)}
	d.secret = try(webhook.ParseSecret(secrets[0]))(t)
	d.transport.DialContext = d.dial
	t.Cleanup(d.transport.CloseIdleConnections)
	d.client = d.newClient(client.Retry{Attempts: 1})
	return d
}

func (d *deployment) newClient(retry client.Retry) *client.Client {
	d.t.Helper()
	c, err := client.New(client.Config{
		BaseURL: "http://studio.example.com", AllowHTTP: true, Email: email, Password: password,
		Transport: d, Timeout: harness.Timeout, Retry: retry,
	})
	check(d.t, err)
	return c
}

// connect makes clients send requests to daemons, after all earlier requests have ended.
func (d *deployment) connect(daemons ...*harness.Daemon) {
	d.requests.Lock()
	defer d.requests.Unlock()
	d.hosts = nil
	for _, p := range daemons {
		d.hosts = append(d.hosts, strings.TrimPrefix(p.URL, "http://"))
	}
}

// RoundTrip sends a request to one of the daemons. It sends a value to written after the request is written, without
// blocking.
func (d *deployment) RoundTrip(request *http.Request) (*http.Response, error) {
	d.requests.RLock()
	defer d.requests.RUnlock()
	request = request.Clone(httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { studio.Signal(d.written) },
	}))
	request.URL.Host = d.hosts[rand.IntN(len(d.hosts))]
	return d.transport.RoundTrip(request)
}

func (d *deployment) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.conns[conn] = true
	}
	return conn, err
}

// cut closes all connections of clients.
func (d *deployment) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for conn := range d.conns {
		_ = conn.Close()
	}
	clear(d.conns)
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

// createAvatar creates an avatar with an idempotency key, whose events are sent to url.
func (d *deployment) createAvatar(ctx context.Context, key, url string) (*gen.Avatar, error) {
	return d.client.CreateAvatar(ctx, gen.CreateAvatarRequest{
		Title: gen.Value(key), BaseVideoURL: gen.Value("https://media.example.com/ada.mp4"),
		WebhookData: gen.Value(gen.WebhookData{WebhookURL: gen.Value(url)}), Webhook: gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)}),
	}, client.WithIdempotencyKey(key))
}

// createAvatars creates avatars from several callers until stop is called. done gets when each creation began and its
// result. If it returns false, its caller ends. A creation that fails is repeated with the same key, also after stop.
func (d *deployment) createAvatars(callers int, urls []string, done func(began time.Time, avatar *gen.Avatar, err error) (more bool)) (stop func()) {
	var stopped atomic.Bool
	var creating sync.WaitGroup
	for i := range callers {
		creating.Go(func() {
			var err error
			for n := 0; err != nil || !stopped.Load(); {
				began := time.Now()
				var avatar *gen.Avatar
				avatar, err = d.createAvatar(d.t.Context(), fmt.Sprintf("%d-%d", i, n), urls[(i+n)%len(urls)])
				if !done(began, avatar, err) {
					return
				}
				if err == nil {
					n++
				} else {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
	return func() {
		stopped.Store(true)
		creating.Wait()
	}
}

// isUnavailable reports whether a request was answered 503 with Retry-After.
func isUnavailable(err error) bool {
	apiErr, ok := errors.AsType[*client.Error](err)
	return ok && apiErr.StatusCode == http.StatusServiceUnavailable && apiErr.RetryAfter > 0
}

// waitRecovered waits until a creation succeeds and the events of all avatars are delivered. It returns their number.
func (d *deployment) waitRecovered(r *receivers) (events int) {
	d.t.Helper()
	harness.Eventually(d.t, "the creation of an avatar", func() bool {
		_, err := d.createAvatar(d.t.Context(), "after", r.urls[0])
		return err == nil
	})
	// Creations that failed may have been committed.
	check(d.t, studiotest.OpenSQL(d.t, d.dsn).QueryRowContext(d.t.Context(), "SELECT 3 * COUNT(*) FROM subjects").Scan(&events))
	r.waitAccepted(events)
	return events
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

// start starts a daemon that simulates renderings in no time, and waits until it serves.
func (d *deployment) start(args ...string) *harness.Daemon {
	d.t.Helper()
	return d.startOn(d.dsn, args...)
}

// startOn is start with another DSN.
func (d *deployment) startOn(dsn string, args ...string) *harness.Daemon {
	d.t.Helper()
	path := try(daemonProgram())(d.t)
	args = append([]string{"--renderer=simulate:0s", "--media=file:" + d.t.TempDir()}, args...)
	p := harness.RunDaemon(d.t, harness.Serve(context.Background(), []string{path}, dsn, args...))
	d.connect(p)
	return p
}

// startWorker starts "studiod work", and waits until it is ready.
func (d *deployment) startWorker(args ...string) *harness.Process {
	d.t.Helper()
	path := try(daemonProgram())(d.t)
	args = append([]string{"work", "--log-format", "text", "--db", d.dsn, "--media", "file:" + d.t.TempDir(), "--renderer", "simulate"}, args...)
	p := harness.Run(d.t, exec.Command(path, args...))
	check(d.t, p.AwaitLog("msg=working"))
	return p
}

// lockEvents prevents all other processes from writing events and attempts until unlock is called.
func lockEvents(t *testing.T, dsn string) (unlock func()) {
	t.Helper()
	tx := try(studiotest.OpenSQL(t, dsn).BeginTx(t.Context(), nil))(t)
	if !strings.HasPrefix(dsn, "sqlite:") { // on SQLite, BEGIN IMMEDIATE is the lock
		try(tx.ExecContext(t.Context(), "LOCK TABLE events, attempts IN EXCLUSIVE MODE"))(t)
	}
	return func() { check(t, tx.Rollback()) }
}

const seedPrefix = "seed-"

// seed adds subjects with due events for each URL, and notifies the daemons.
func (d *deployment) seed(subjects, events int, urls ...string) {
	d.t.Helper()
	db := studiotest.OpenSQL(d.t, d.dsn)
	defer func() { check(d.t, db.Close()) }()
	tx := try(db.BeginTx(d.t.Context(), nil))(d.t)
	for _, url := range urls {
		d.seeded++
		check(d.t, studiotest.Backlog{
			UserID: d.userID, Prefix: fmt.Sprintf("%s%d-", seedPrefix, d.seeded), URL: url, Subjects: subjects, Events: events,
		}.Insert(d.t.Context(), tx, d.dsn))
	}
	check(d.t, tx.Commit())
	if strings.HasPrefix(d.dsn, "sqlite:") { // daemons poll SQLite for writes of other processes
		return
	}
	for _, url := range urls {
		_, err := db.ExecContext(d.t.Context(), `SELECT pg_notify('studio_' || current_schema(), 'due  ' || $1)`, d.userID+" "+studio.Origin(url))
		check(d.t, err)
	}
}
