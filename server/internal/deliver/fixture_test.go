package deliver_test

import (
	"context"
	"database/sql"
	"log/slog"
	"slices"
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
)

var check = harness.Check

func try[T any](result T, err error) func(t testing.TB) T { return harness.Try(result, err) }

// loadDivisor reduces the load of the larger tests in the short form, and under the race detector, which makes SQLite
// very slow.
var loadDivisor = 1

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
	upkeep      bool // run it, too
}

// onEachDatabase runs a test on SQLite and on PostgreSQL, each in a synctest bubble.
func onEachDatabase(t *testing.T, test func(s *fixture)) {
	t.Helper()
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { onSQLite(t, test) })
	t.Run("PostgreSQL", func(t *testing.T) {
		harness.SkipShort(t, "SQLite shows it, and other tests use PostgreSQL")
		onPostgresBubble(t, test)
	})
}

// onSQLite runs a test on SQLite in a synctest bubble.
func onSQLite(t *testing.T, test func(s *fixture)) {
	t.Helper()
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	synctest.Test(t, func(t *testing.T) {
		s := &fixture{t: t, dsn: dsn, now: time.Now}
		s.run(test)
	})
}

// onPostgresBubble runs a test on PostgreSQL in a synctest bubble, with one process.
func onPostgresBubble(t *testing.T, test func(s *fixture)) {
	t.Helper()
	t.Parallel()
	// A pool replaces its connections every hour, and hundreds of hours pass in the bubble.
	dsn := studiotest.NewPostgres(t) + "&pool_max_conn_lifetime=10000h&pool_max_conn_idle_time=10000h&pool_health_check_period=10000h"
	synctest.Test(t, func(t *testing.T) {
		s := &fixture{t: t, dsn: dsn, now: time.Now, soleProcess: true}
		s.run(test)
	})
}

func (s *fixture) run(test func(s *fixture)) {
	s.receiver = &receiver{now: s.now, tries: make(map[string]int)}
	s.sender = s.receiver
	s.open()
	s.user = studiotest.AddUser(s.t, s.studio, "ada@example.com")
	test(s)
	broken := try(s.db.Check(s.t.Context()))(s.t)
	for _, violation := range broken {
		s.t.Error(violation)
	}
	s.close()
}

func (s *fixture) open() {
	s.t.Helper()
	s.db = try(store.Open(s.t.Context(), s.dsn, store.Config{Exclusive: true, Delivers: true}))(s.t)
	cfg := studiotest.Config(s.db, s.now)
	cfg.AutoConsent = func(studio.Subject) bool { return true }
	s.studio = studio.New(cfg)
}

func (s *fixture) close() { check(s.t, s.db.Close()) }

// process is a process that delivers and renders.
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
	running.Go(func() { p.render(stop) })
	if p.s.upkeep {
		running.Go(func() {
			upkeep.Run(stop, upkeep.Config{Store: p.s.db, Studio: p.s.studio, Logger: slog.New(slog.DiscardHandler), Now: p.s.now})
		})
	}
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
		case <-db.Signal(store.SignalRender):
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
	s.transact(func(tx *sql.Tx) {
		for _, statement := range statements {
			try(tx.ExecContext(s.t.Context(), statement))(s.t)
		}
	})
}

func (s *fixture) transact(do func(tx *sql.Tx)) {
	s.t.Helper()
	db := studiotest.OpenSQL(s.t, s.dsn)
	defer func() { check(s.t, db.Close()) }()
	tx := try(db.BeginTx(s.t.Context(), nil))(s.t)
	do(tx)
	check(s.t, tx.Commit())
}

func (s *fixture) seed(events int, urls ...string) {
	s.t.Helper()
	s.transact(func(tx *sql.Tx) { s.insert(tx, s.user.ID, events, urls) })
}

// insert adds subjects of a user with one due event each, a number of them for each URL.
func (s *fixture) insert(tx *sql.Tx, userID string, events int, urls []string) {
	s.t.Helper()
	for _, url := range urls {
		backlog := studiotest.Backlog{UserID: userID, Prefix: url + " ", URL: url, Subjects: events, Events: 1}
		check(s.t, backlog.Insert(s.t.Context(), tx, s.dsn))
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
	return s.createFor(hookURL)
}

func (s *fixture) createFor(url string) studio.Subject {
	s.t.Helper()
	return try(s.studio.CreateAvatar(s.t.Context(), studio.Creation{
		UserID: s.user.ID, Request: []byte(`{}`), Webhook: studio.Registration{URL: url, Enabled: true},
	}))(s.t)
}

func (s *fixture) wantStatuses(id string, want ...string) {
	s.t.Helper()
	if got := s.receiver.statuses(id); !slices.Equal(got, want) {
		s.t.Errorf("attempts were made to deliver %v, want %v", got, want)
	}
}
