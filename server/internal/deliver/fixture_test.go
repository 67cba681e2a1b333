package deliver_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/deliver"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/upkeep"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

var check = harness.Check

// receiver is a Sender that records its messages. A test sets its answers.
type receiver struct {
	now    func() time.Time
	answer func(message sender.Message, try int) sender.Attempt

	mu   sync.Mutex
	sent []delivery
}

type delivery struct {
	sender.Message
	at time.Time
}

func (r *receiver) Send(_ context.Context, message sender.Message) sender.Attempt {
	r.mu.Lock()
	try := 1
	for _, earlier := range r.sent {
		if earlier.ID == message.ID {
			try++
		}
	}
	r.sent = append(r.sent, delivery{message, r.now()})
	r.mu.Unlock()
	attempt := sender.Attempt{Status: 200}
	if r.answer != nil {
		attempt = r.answer(message, try)
	}
	attempt.At = r.now()
	return attempt
}

func (r *receiver) deliveries() []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sent)
}

// statuses returns the statuses in the events of a subject, in the order of the attempts.
func (r *receiver) statuses(subjectID string) []string {
	var all []string
	for _, d := range r.deliveries() {
		if body := string(d.Body); strings.Contains(body, subjectID) {
			_, status, _ := strings.Cut(body, `"status":"`)
			all = append(all, strings.TrimSuffix(status, `"}}`))
		}
	}
	return all
}

// fixture is a service on a database with a fake sender. It renders by itself, at once.
type fixture struct {
	t           *testing.T
	dsn         string
	now         func() time.Time
	db          *store.Store
	studio      *studio.Service
	user        studio.User
	receiver    *receiver
	sender      deliver.Sender // the receiver, unless a test has its own
	config      deliver.Config
	soleProcess bool // on PostgreSQL in a synctest bubble
	rescans     bool // as often as by default; otherwise the tests depend on notifications and due times
}

// onEachDatabase runs a test on SQLite and on PostgreSQL, each in a synctest bubble.
func onEachDatabase(t *testing.T, test func(s *fixture)) {
	t.Helper()
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		runOnSQLite(t, test)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		onPostgresBubble(t, test)
	})
}

// onSQLite runs a test on SQLite in a synctest bubble.
func onSQLite(t *testing.T, test func(s *fixture)) {
	t.Helper()
	t.Parallel()
	runOnSQLite(t, test)
}

// runOnSQLite is onSQLite without Parallel, for subtests.
func runOnSQLite(t *testing.T, test func(s *fixture)) {
	t.Helper()
	dsn := studiotest.NewSQLite(t)
	synctest.Test(t, func(t *testing.T) {
		s := &fixture{t: t, dsn: dsn, now: time.Now}
		s.run(test)
	})
}

// onPostgresBubble runs a test on PostgreSQL in a synctest bubble, with one process.
func onPostgresBubble(t *testing.T, test func(s *fixture)) {
	t.Helper()
	// A pool replaces its connections every hour, and hundreds of hours pass in the bubble.
	dsn := studiotest.NewPostgres(t) + "&pool_max_conn_lifetime=10000h&pool_max_conn_idle_time=10000h&pool_health_check_period=10000h"
	synctest.Test(t, func(t *testing.T) {
		s := &fixture{t: t, dsn: dsn, now: time.Now, soleProcess: true}
		s.run(test)
	})
}

func (s *fixture) run(test func(s *fixture)) {
	s.receiver = &receiver{now: s.now}
	s.sender = s.receiver
	s.open()
	s.user = studiotest.AddUser(s.t, s.studio, "ada@example.com")
	test(s)
	broken, err := s.db.Check(s.t.Context())
	check(s.t, err)
	for _, violation := range broken {
		s.t.Error(violation)
	}
	s.close()
}

func (s *fixture) open() {
	s.t.Helper()
	db, err := store.Open(s.t.Context(), s.dsn, store.Config{Daemon: true})
	check(s.t, err)
	s.db = db
	cfg := studiotest.Config(db, s.now)
	cfg.AutoConsent = func(studio.Subject) bool { return true }
	s.studio = studio.New(cfg)
}

func (s *fixture) close() { check(s.t, s.db.Close()) }

// process is a process that delivers and renders, with the upkeep.
type process struct {
	*deliver.Deliverer
	s         *fixture
	renderDue chan struct{}
}

// process returns a process whose deliverer has the configuration of the fixture.
func (s *fixture) process() *process {
	p := &process{s: s, renderDue: make(chan struct{}, 1)}
	cfg := s.config
	cfg.Store, cfg.Studio, cfg.Sender, cfg.Now = s.db, s.studio, s.sender, s.now
	cfg.OnRenderDue = func() { studio.Signal(p.renderDue) }
	if !s.rescans {
		cfg.RescanInterval = time.Hour
	}
	p.Deliverer = deliver.New(cfg)
	if !s.rescans {
		p.SetPollInterval(time.Hour)
	}
	if s.soleProcess {
		p.SetSoleProcess()
	}
	return p
}

func (p *process) Run(ctx, stop context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	logger := slog.New(slog.DiscardHandler)
	running.Go(func() {
		upkeep.Run(stop, upkeep.Config{Store: p.s.db, Studio: p.s.studio, Logger: logger, Now: p.s.now})
	})
	running.Go(func() { p.render(stop) })
	p.Deliverer.Run(ctx, stop)
}

// render ends the renderings that are due at once, until stop ends.
func (p *process) render(stop context.Context) {
	db := p.s.db
	for stop.Err() == nil {
		subjects, more, err := db.ClaimRenderings(stop, db.ProcessID(), p.s.now(), 100)
		for _, subject := range subjects {
			_, _ = p.s.studio.Rendered(stop, subject.ID, studio.Rendering{}, nil) // a test may have deleted it
		}
		if more && err == nil {
			continue
		}
		select {
		case <-stop.Done():
		case <-db.RenderDue():
		case <-p.renderDue:
		}
	}
}

// work runs a process for d, in a synctest bubble.
func (s *fixture) work(d time.Duration) {
	s.t.Helper()
	stop := start(s.process())
	time.Sleep(d) // in the bubble this takes no real time
	stop()
}

// workWhile is work while another function runs.
func (s *fixture) workWhile(d time.Duration, meanwhile func()) {
	s.t.Helper()
	var running sync.WaitGroup
	running.Go(meanwhile)
	s.work(d)
	running.Wait()
}

// exec executes statements in one transaction.
func (s *fixture) exec(statements ...string) {
	s.t.Helper()
	db := studiotest.OpenSQL(s.t, s.dsn)
	tx, err := db.BeginTx(s.t.Context(), nil)
	for _, statement := range statements {
		if err == nil {
			_, err = tx.ExecContext(s.t.Context(), statement)
		}
	}
	if err == nil {
		err = tx.Commit()
	}
	if err := errors.Join(err, db.Close()); err != nil {
		s.t.Error(err)
	}
}

// eventuallyTrue waits until a query returns true.
func (s *fixture) eventuallyTrue(what, query string) {
	s.t.Helper()
	db := studiotest.OpenSQL(s.t, s.dsn)
	s.eventually(what, func() bool {
		var holds bool
		err := db.QueryRowContext(s.t.Context(), query).Scan(&holds)
		return err == nil && holds
	})
}

func (s *fixture) create() studio.Subject {
	s.t.Helper()
	return s.createFor("https://hooks.example.com/")
}

func (s *fixture) createFor(url string) studio.Subject {
	s.t.Helper()
	subject, err := s.studio.CreateAvatar(s.t.Context(), studio.Creation{
		UserID: s.user.ID, Request: []byte(`{}`), Webhook: studio.Registration{URL: url, Enabled: true},
	})
	check(s.t, err)
	return subject
}

func (s *fixture) wantStatuses(id string, want ...string) {
	s.t.Helper()
	if got := s.receiver.statuses(id); !slices.Equal(got, want) {
		s.t.Errorf("attempts were made to deliver %v, want %v", got, want)
	}
}
