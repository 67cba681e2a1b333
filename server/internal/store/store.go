// Package store stores the domain in a database, SQLite or PostgreSQL. It implements [studio.Store] for
// package studio, and has further methods for packages deliver and render, for the console and
// for the commands of studiod.
//
// # Terms
//
// The tables renderings and deliveries are queues of subjects: of those that are to be rendered, and of those that have
// pending events, each with its first one. Their rows are narrow, because they are written and deleted for each
// subject. due_at is when the work is due, and [Store.Signal] signals that work has become due.
//
// An origin is the scheme, host and port of a webhook URL. A flow is the events of one user for one origin. On
// PostgreSQL, a lease holder is a process that holds lanes, which are shards of the origins, and its ID is a
// fencing token.
//
// # Where the SQL is
//
// The tables are in migrations. The SQL of an event is in the files events*.go, except that of its end:
//
//	events    events_insert.go                      inserts new events, with their subjects, and sets event_clocks
//	          events_due.go                         reads the flows and events that are due
//	          attempts.go                           writes attempts and the outcomes of their events
//	          attempts_group.go                     does so for a group of attempts in one request, on PostgreSQL
//	          events.go                             lists events for operators and users
//	          replays.go                            makes ended events pending again, in batches
//	          delete.go                             ends the events of deleted subjects
//	          prune.go                              deletes events when their retention is over
//	attempts  attempts.go; the last attempt of an event is in its row
//
//	subjects          subjects_write.go, with their idempotency keys; creations.go and updates.go decide what
//	                  and lock it, idempotency.go the keys; subjects.go reads; delete.go, with upload_uses
//	renderings        renderings.go; subjects_write.go inserts and deletes them
//	lanes, holders    leases.go; signals in signals.go, and those between processes in notifications.go
//	endpoints         endpoints.go; creations add them, and the process that delivers writes its results; breakers in
//	                  breakers.go; pauses in pauses.go; alerts in alerts.go
//	users             users.go; refresh tokens and revocations in tokens.go; failed logins in logins.go
//	workspaces        workspaces.go; projects in projects.go
//	uploads           uploads.go
//	secrets           secrets.go (of webhooks), keys.go (of the service)
//	several tables    status.go, check.go, prune.go, backup.go
//	daemons           processes.go
//	tasks             tasks.go; delete.go and users.go add and do those that erase
//
// # What grows with a history
//
// No statement writes all rows of a user, an avatar or the service: batchRows is the most, and the events of as many
// subjects. Such work is a task, which any process can finish, or a loop whose every transaction leaves less to do,
// like [Store.Prune].
//
// # Two databases
//
// Most SQL is the same on both databases. dialect.go contains the SQL that differs, and the interfaces in
// engine.go what else does: the files sqlite*.go implement them for SQLite, and postgres*.go for PostgreSQL:
// postgres_hosts.go connects, postgres_sockets.go ends the wait for a server that hangs, and postgres_write.go
// commits. A statement that writes rows of a table is a rowStatement, in rows.go: PostgreSQL runs it once for
// many rows, and SQLite for each row. query.go reads rows and executes single statements,
// and conditions.go collects the conditions of a query that depend on its caller.
//
// Writes use group commit: changes that arrive while a commit runs share the next one. commit_queue.go is
// the queue of each group. On SQLite all writes share one, in sqlite_write.go. On PostgreSQL creations,
// updates and attempts each have their own; group.go commits their groups.
//
// # What a creation costs
//
// These are the writes for a lip-sync with an idempotency key and a webhook, until its rendering has ended. PostgreSQL
// runs each statement once for a group, and SQLite for each subject. The log is that of PostgreSQL.
//
//	          statements  rows                                   index entries             log
//	                                                             PostgreSQL  SQLite
//	creation  5           2 inserted                             7           6             1.9 kB
//	claim     2           1 updated                              4           1             0.6 kB
//	result    6           2 inserted, 2 updated, 1 deleted       10          6             2.8 kB
//
// Uploads that a request uses are one more statement, with a row each. A URL that the user has not used before is one
// more row.
//
// A claim is of all due renderings for which a worker is free. With 128 callers, a creation takes 0.06 ms of CPU in
// PostgreSQL and 0.17 ms in studiod on SQLite. PostgreSQL writes all index entries of a subject again when its status
// changes, because subjects_newest contains the status. Without it, the log of a creation would be 0.8 kB shorter, but
// a list of one status would read the rows of all others.
//
// # What a list costs
//
// A list of 20 projects with 1.2 kB each takes one query and 38 kB of allocations. On SQLite that is 0.1 ms of CPU, 40
// % of it in SQLite: it finds each row in the index and then in the table. This is about half of the CPU of the
// request. Sessions and revocations are in memory. The access log takes 4 % and the rate limit 2 %.
package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Errors of [Open]. If the database is locked, damaged or unreachable, or refuses the connection, the error wraps
// [studio.ErrBusy]. Any other error concerns the DSN.
var (
	// ErrInUse means that another daemon uses the SQLite database, or a restore creates it.
	ErrInUse = errors.New("another daemon uses this database, or another restore is running")
	// ErrNoDatabase means that the file is not an SQLite database.
	ErrNoDatabase = errors.New("this is not a database")
)

// ErrLost means that the file of an open SQLite database was deleted, replaced or emptied.
var ErrLost = errors.New("the database file was deleted or replaced")

// Config configures [Open]. Its zero value is the configuration of a command.
type Config struct {
	// Exclusive locks an SQLite database against other exclusive stores, such as that of a daemon. Commands that are
	// not exclusive use the database at the same time.
	Exclusive bool
	// Delivers leaves the notifications of due events to the caller of [Store.TakeFlows]. Otherwise the store notifies
	// the daemons on a PostgreSQL database after each commit.
	Delivers bool
	// MustExist makes Open fail if there is no database yet, or one without tables.
	MustExist bool
	// Keys encrypts and decrypts signing keys and webhook secrets. Default: they are stored in clear.
	Keys *keyring.Keyring
	// OnRevoke is called after this process has revoked the access tokens of a session. Default: none.
	OnRevoke func(id string, at time.Time)
	// Logger gets a line before and after a migration of an existing database. Default: none.
	Logger *slog.Logger
	// Traces records a span for each statement in a trace. Default: none.
	Traces trace.TracerProvider

	migrations fs.FS // default: those of the package
}

// Store stores the domain in a database. It is safe for concurrent use.
//
// Methods without a comment implement [studio.Store] and are documented there. If the database is unreachable,
// busy, full, damaged or not permitted, or its encryption key is missing, the error of most methods wraps
// [studio.ErrBusy].
type Store struct {
	engine    engine
	postgres  *postgres // nil on SQLite
	name      string
	delivers  bool
	keys      *keyring.Keyring
	onRevoke  func(id string, at time.Time)
	tracer    trace.Tracer // nil for none
	processID string       // see ProcessID
	leases    atomic.Int64 // how many lease holders this process had
	signals   *signals
	counting  chan struct{}         // has a value for each replay that is counted
	scans     studio.KeyedSemaphore // of users whose events are filtered
	saving    *commitQueue[*groupAttempt]
	creations *commitQueue[*creation]
	updates   *commitQueue[*update]

	mu          sync.Mutex
	onEvents    []func(userIDs []string)
	renderTurns map[string]int64 // the last claim of each user who waits for a rendering
	lastTurn    int64
}

var _ studio.Store = (*Store)(nil)

// Open opens the database that dsn names. It creates and migrates the database as needed. The DSN is:
//
//   - sqlite:PATH, a file.
//   - postgres://USER:PASSWORD@HOST:PORT/DATABASE or postgresql://…, with the settings of libpq and
//     pgxpool as parameters. The PG… environment variables are the defaults. Any number of processes may
//     share a database, or a schema that search_path names. With several hosts, it uses the one that accepts
//     writes. A process uses up to 16 connections, 14 of them in a pool (pool_max_conns). It waits 3 s to connect
//     (connect_timeout), 5 s for a free connection, 5 s for a lock (lock_timeout) and 7 s for each response. A
//     pooler such as pgbouncer is not supported.
//
// No error contains the password.
func Open(ctx context.Context, dsn string, cfg Config) (*Store, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.migrations == nil {
		cfg.migrations = migrations
	}
	s := &Store{
		keys: cfg.Keys, delivers: cfg.Delivers, processID: rand.Text(), signals: newSignals(),
		counting: make(chan struct{}, replayCounts),
		scans:    studio.KeyedSemaphore{Limit: 1},
	}
	if s.onRevoke = cfg.OnRevoke; s.onRevoke == nil {
		s.onRevoke = func(string, time.Time) {}
	}
	s.saving, s.creations, s.updates = newGroupQueue(s, s.saveAttempts), newGroupQueue(s, s.createSubjects), newGroupQueue(s, changeSubjects)
	s.saving.sameGroup = func(first, other *groupAttempt) bool { return first.holder == other.holder }
	if cfg.Traces != nil {
		s.tracer = cfg.Traces.Tracer(tracerName)
	}
	var err error
	switch scheme, path, _ := strings.Cut(dsn, ":"); {
	case scheme == "sqlite" && path != "":
		s.name = dsn
		s.engine, err = openSQLite(ctx, path, cfg)
	case scheme == "postgres" || scheme == "postgresql":
		settings, name, parseErr := parsePostgres(dsn)
		if parseErr != nil {
			return nil, parseErr
		}
		s.name = name
		s.postgres, err = openPostgres(ctx, settings, cfg)
		s.engine = s.postgres
	default:
		return nil, errors.New("the database must be sqlite:PATH or postgres://…")
	}
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", s.name, err)
	}
	return s, nil
}

// Name returns the DSN of the database without the password and the parameters.
func (s *Store) Name() string { return s.name }

// ProcessID returns the random name of this process. It is in its notifications, its leases on lanes and renderings,
// and the list of daemons.
func (s *Store) ProcessID() string { return s.processID }

// Close waits for running queries and closes the database.
func (s *Store) Close() error { return s.engine.close() }

// Shared reports whether any number of processes may use the database at the same time, as on PostgreSQL.
func (s *Store) Shared() bool { return s.postgres != nil }

// Lost returns a channel that is closed when the SQLite file was found deleted, replaced or emptied. Writes
// since then are lost when the process ends; the caller should end it. On PostgreSQL the channel is nil.
func (s *Store) Lost() <-chan struct{} {
	if e, ok := s.engine.(*sqlite); ok {
		return e.lost
	}
	return nil
}

// ChangedElsewhere reports whether another process has written to the SQLite database since the last call.
// [Store.Signal] does not report such writes. The call reads no table. On PostgreSQL it always reports false,
// because processes notify each other.
func (s *Store) ChangedElsewhere(ctx context.Context) (bool, error) { return s.engine.changed(ctx) }

// write runs change in a transaction, to which it adds the act of the context, and returns an error of the domain.
func (s *Store) write(ctx context.Context, change func(tx transaction) error) error {
	return s.domainError(s.engine.write(ctx, s.signal, func(tx transaction) error {
		if err := addAct(ctx, tx); err != nil {
			return err
		}
		return change(tx) // which may commit
	}))
}

// domainError converts an error of the engine to an error of the domain, if there is one for it.
func (s *Store) domainError(err error) error {
	if s.engine.duplicateKey(err) {
		return studio.ErrExists
	}
	if s.engine.missingReference(err) {
		return studio.ErrNotFound
	}
	return markUnavailable(s.engine, err)
}
