// Package store keeps the domain in a database. The SQL is the same on every engine; what
// differs between engines is behind the two interfaces of this file, with one file an engine.
//
// The rows of subjects and events are also the queue: subjects.render_at and
// subjects.deliver_at say when work is due, and [Store.Due] tells that some has become due.
package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Errors of [Open]; any other is about the path or the server.
var (
	// ErrInUse: another daemon has the database to itself.
	ErrInUse = errors.New("another daemon uses this database")
	// ErrNoDatabase: the file is something else.
	ErrNoDatabase = errors.New("this is not a database")
)

// ErrLost is returned when the file of an open database was deleted, replaced or emptied.
var ErrLost = errors.New("the file of the database has gone")

// Config says how a database is used.
type Config struct {
	// Daemon takes an embedded database for this process alone; commands leave it false and
	// work beside a daemon. On PostgreSQL, what becomes due is announced to the daemons at once unless
	// it is set: a [Store.Woken] says it to the one in this process.
	Daemon bool
	// MustExist makes it an error when there is no database yet, or one without tables.
	MustExist bool
	// Keys encrypt keys and webhook secrets, and decrypt those that are encrypted. Default: they are kept
	// in clear.
	Keys *keyring.Keyring
	// OnUse is called with every message of [Store.AnnounceUse], those of this process included, while
	// [Store.Listen] runs. Default: none.
	OnUse func(message string)
}

// Store keeps the domain in a database. It is safe for concurrent use.
type Store struct {
	engine    engine
	name      string
	daemon    bool
	keys      *keyring.Keyring
	onUse     func(message string)
	due       chan struct{}
	records   *records
	creations *creations
	updates   *updates

	mu      sync.Mutex
	woken   map[Line]struct{}
	deleted map[Line]struct{}
}

var _ studio.Store = (*Store)(nil)

// querier reads by SQL with $1, $2 … for parameters.
type querier interface {
	// query calls each for every row, with the function that scans it.
	query(ctx context.Context, each func(scan func(dest ...any) error) error, query string, args ...any) error
}

// transaction is a querier whose changes are kept together or not at all.
type transaction interface {
	querier
	exec(ctx context.Context, query string, args ...any) (rows int64, err error)
	// execAll is exec of several, in order and at the cost of one.
	execAll(ctx context.Context, all []statement) (rows []int64, err error)
	// forUpdate ends a SELECT whose row this transaction is going to change.
	forUpdate() string
	// subjectDue is when a row of subjects is due, by its events.
	subjectDue() string
	// claim takes a name until the end of the transaction; false when another one has it.
	claim(ctx context.Context, name string) (free bool, err error)
	// deliverDue says that events of a line have become due, and renderDue that a subject is to be
	// rendered at a time.
	deliverDue(line Line)
	renderDue(at time.Time)
	// clock is the time, which all processes have in common, as micros keeps it.
	clock() string
}

// statement is SQL with its parameters.
type statement struct {
	query string
	args  []any
}

// engine is a database.
type engine interface {
	querier
	// queryAll is query for each of several parameters at the cost of one.
	queryAll(ctx context.Context, each func(i int, scan func(dest ...any) error) error, query string, args [][]any) error
	// write runs change in a transaction, and again in another when transactions got into each
	// other's way; due is called with the lines that it made due, after the commit.
	write(ctx context.Context, due func(lines []Line), change func(tx transaction) error) error
	// changed reports whether another process has written since the last call.
	changed(ctx context.Context) (bool, error)
	// duplicate reports whether err says that a key exists, and missing that a reference does not.
	duplicate(err error) bool
	missing(err error) bool
	// busy reports whether others kept the database for too long.
	busy(err error) bool
	// now is transaction.clock, but the same throughout a query, so that an index serves it.
	now() string
	close() error
}

// Open opens the database that dsn names, creating and migrating it as needed:
//
//   - sqlite:PATH, a file.
//   - postgres://USER:PASSWORD@HOST:PORT/DATABASE or postgresql://…, with the settings of libpq and
//     pgxpool as parameters, and the PG… variables of the environment for what it leaves out. Any
//     number of processes may use one, or a schema of one that search_path names. A process has up to
//     16 connections (pool_max_conns) and waits 5 s for a free one, 5 s for a lock (lock_timeout) and
//     30 s for a statement (statement_timeout).
//
// No error shows the password.
func Open(ctx context.Context, dsn string, cfg Config) (*Store, error) {
	s := &Store{
		keys: cfg.Keys, daemon: cfg.Daemon, onUse: cfg.OnUse, due: make(chan struct{}, 1), woken: make(map[Line]struct{}), deleted: make(map[Line]struct{}),
		records: newRecords(), creations: newCreations(), updates: newUpdates(),
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
		s.engine, err = openPostgres(ctx, settings, cfg)
	default:
		return nil, errors.New("the database must be given as sqlite:PATH or postgres://…")
	}
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", s.name, err)
	}
	return s, nil
}

// Name returns what the database was opened as, without the password.
func (s *Store) Name() string { return s.name }

// Close waits for what is running and releases the database.
func (s *Store) Close() error { return s.engine.close() }

// Lost is closed when the file of the database was found to have gone. What was acknowledged since it
// went is lost with this process, which should end.
func (s *Store) Lost() <-chan struct{} {
	if e, ok := s.engine.(*sqlite); ok {
		return e.lost
	}
	return nil
}

// Due receives after this process made work due. One value may stand for many changes.
func (s *Store) Due() <-chan struct{} { return s.due }

// Woken returns the lines in which events became due since the last call.
func (s *Store) Woken() []Line { return s.take(s.woken) }

// Deleted returns the lines of which this process deleted subjects since the last call: what was read
// of them before may not be sent any more.
func (s *Store) Deleted() []Line { return s.take(s.deleted) }

func (s *Store) take(lines map[Line]struct{}) []Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Collect(maps.Keys(lines))
	clear(lines)
	return all
}

// ChangedElsewhere reports whether another process has written since the last call: an
// operator's command beside the daemon, which [Store.Due] does not see. It costs next to nothing.
func (s *Store) ChangedElsewhere(ctx context.Context) (bool, error) { return s.engine.changed(ctx) }

func (s *Store) write(ctx context.Context, change func(tx transaction) error) error {
	return s.failure(s.engine.write(ctx, s.signalDue, change))
}

// failure makes an error of the domain of one of the engine, if it is one.
func (s *Store) failure(err error) error {
	if s.engine.duplicate(err) {
		return studio.ErrExists
	}
	if s.engine.missing(err) {
		return studio.ErrNotFound
	}
	if s.engine.busy(err) {
		return fmt.Errorf("%w: %w", studio.ErrBusy, err)
	}
	return err
}

func (s *Store) signalDue(lines []Line) {
	s.tell(s.Announce, lines)
	s.signal(s.woken, lines)
}

func (s *Store) signalDeleted(lines []Line) {
	s.tell(s.AnnounceDeleted, lines)
	s.signal(s.deleted, lines)
}

// tell announces what a command has done. Without it, a daemon finds that a little later.
func (s *Store) tell(announce func(ctx context.Context, lines []Line) error, lines []Line) {
	if s.Pool() != nil && !s.daemon && len(lines) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
		defer cancel()
		_ = announce(ctx, lines)
	}
}

// signal adds lines to those that a reader of Due takes.
func (s *Store) signal(all map[Line]struct{}, lines []Line) {
	s.mu.Lock()
	for _, line := range lines {
		all[line] = struct{}{}
	}
	s.mu.Unlock()
	select {
	case s.due <- struct{}{}:
	default: // the reader has not taken the last one and will see this work too
	}
}

// one scans the only row of a query; studio.ErrNotFound when there is none.
func one(ctx context.Context, q querier, dest []any, query string, args ...any) error {
	found := false
	err := q.query(ctx, func(scan func(...any) error) error {
		found = true
		return scan(dest...)
	}, query, args...)
	if err == nil && !found {
		return studio.ErrNotFound
	}
	return err
}

// micros is how times are kept; the zero time is kept as NULL.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// instant scans what micros wrote.
type instant struct{ time *time.Time }

func (i instant) Scan(value any) error {
	switch value := value.(type) {
	case nil:
		*i.time = time.Time{}
	case int64:
		*i.time = time.UnixMicro(value).UTC()
	default:
		return fmt.Errorf("store: a time is kept as %T", value)
	}
	return nil
}
