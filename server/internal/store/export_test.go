package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// ErrTimeout is the error of a connection that does not respond.
var ErrTimeout = errTimeout

// WithMigration returns the configuration of the next version, which has one more migration on each database.
func (c Config) WithMigration(up string) Config {
	up = "-- +goose Up\n" + up
	files := fstest.MapFS{"migrations/sqlite/09999_next.sql": {Data: []byte(up)}, "migrations/postgres/09999_next.sql": {Data: []byte(up)}}
	paths, err := fs.Glob(migrations, "migrations/*/*.sql")
	if err != nil {
		panic(err)
	}
	for _, path := range paths {
		content, err := migrations.ReadFile(path)
		if err != nil {
			panic(err)
		}
		files[path] = &fstest.MapFile{Data: content}
	}
	c.migrations = files
	return c
}

// Pragma returns the value of a pragma on every connection of a pool.
func (s *Store) Pragma(t *testing.T, pool, name string) []string {
	t.Helper()
	db := s.engine.(*sqlite).writer
	if pool == "readers" {
		db = s.engine.(*sqlite).readers
	}
	var values []string
	var connections []*sql.Conn
	for range db.Stats().MaxOpenConnections {
		connection := harness.Try(db.Conn(context.Background()))(t)
		connections = append(connections, connection)
		var value string
		harness.Check(t, connection.QueryRowContext(context.Background(), "PRAGMA "+name).Scan(&value))
		values = append(values, value)
	}
	for _, connection := range connections {
		harness.Check(t, connection.Close())
	}
	return values
}

// Setting returns a setting of PostgreSQL on a connection of the pool.
func (s *Store) Setting(t *testing.T, name string) (value string) {
	t.Helper()
	harness.Check(t, queryRow(t.Context(), s.engine, []any{&value}, `SELECT current_setting($1)`, name))
	return value
}

// MaxConnections returns the maximum size of the pool.
func (s *Store) MaxConnections() int { return int(s.postgres.pool.Config().MaxConns) }

// Texts returns the values of a query with one column.
func (s *Store) Texts(t *testing.T, query string, args ...any) (all []string) {
	t.Helper()
	values := harness.Try(queryRows(t.Context(), s.engine, oneColumn[[]byte], query, args...))(t)
	for _, value := range values {
		all = append(all, string(value))
	}
	return all
}

// Exec runs statements in one transaction.
func (s *Store) Exec(t testing.TB, statements ...string) {
	t.Helper()
	harness.Check(t, s.TryExec(t.Context(), statements...))
}

// TryExec is Exec, but returns the error.
func (s *Store) TryExec(ctx context.Context, statements ...string) error {
	all := make([]statement, len(statements))
	for i, query := range statements {
		all[i].query = query
	}
	return s.write(ctx, func(tx transaction) error { return tx.execAll(ctx, all) })
}

// DomainError returns the error of the domain for one of the database.
func (s *Store) DomainError(err error) error { return s.domainError(err) }

// Intercept makes the store run each query and each transaction with around.
func (s *Store) Intercept(around func(run func() error) error) {
	s.engine = interceptedEngine{s.engine, around}
}

// LoseAnswers makes each transaction fail after its commit for which lose returns true.
func (s *Store) LoseAnswers(lose func() bool) {
	s.Intercept(func(run func() error) error {
		if err := run(); err != nil || !lose() {
			return err
		}
		return unavailableError{errTimeout}
	})
}

type interceptedEngine struct {
	engine
	around func(run func() error) error
}

func (e interceptedEngine) query(ctx context.Context, each rowFunc, query string, args ...any) error {
	return e.around(func() error { return e.engine.query(ctx, each, query, args...) })
}

func (e interceptedEngine) queryAll(ctx context.Context, each rowFunc, queries []statement) error {
	return e.around(func() error { return e.engine.queryAll(ctx, each, queries) })
}

func (e interceptedEngine) write(ctx context.Context, due func(marks), change func(transaction) error) error {
	return e.around(func() error { return e.engine.write(ctx, due, change) })
}

// ConnectByName connects to PostgreSQL like a pool does within connectTimeout, if the name in the DSN has these
// addresses.
func ConnectByName(ctx context.Context, dsn string, addresses ...string) (*pgx.Conn, error) {
	settings, _, err := parsePostgres(dsn)
	if err != nil {
		return nil, err
	}
	config := settings.ConnConfig
	config.LookupFunc = func(context.Context, string) ([]string, error) { return addresses, nil }
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := newHosts(config).choose(ctx, config); err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, config)
}

// SetAnswerTimeout sets how long the store waits for each answer of PostgreSQL. It closes all connections.
func (s *Store) SetAnswerTimeout(d time.Duration) {
	s.postgres.sockets.mu.Lock()
	s.postgres.sockets.timeout = d
	s.postgres.sockets.mu.Unlock()
	s.postgres.disconnect()
}

// Unavailable reports whether err means that the database is unavailable for now.
func (s *Store) Unavailable(err error) bool {
	return s.engine.busy(err) || errors.Is(err, studio.ErrBusy)
}

// PostgresBusy reports whether err means that PostgreSQL is unavailable for now.
func PostgresBusy(err error) bool { return (*postgres)(nil).busy(err) }

// BatchRows is the most rows that a statement of a long work writes.
const BatchRows = batchRows

// CountRows makes the store call seen after each statement with the rows that it has written or returned.
func (s *Store) CountRows(seen func(query string, rows int64)) {
	s.engine = observedEngine{s.engine, observer{after: seen}}
}

// Explain makes the store call seen with the plan of each query before the query runs.
func (s *Store) Explain(seen func(query string, plan []string)) {
	command, columns := "EXPLAIN QUERY PLAN ", 4 // of a plan; the last one is the text
	if s.Shared() {
		command, columns = "EXPLAIN ", 1
	}
	s.engine = observedEngine{s.engine, observer{after: func(string, int64) {}, before: func(ctx context.Context, q querier, query string, args []any) error {
		if strings.HasPrefix(query, "SET ") || strings.HasPrefix(query, "LOCK ") { // they have no plan
			return nil
		}
		plan, err := queryRows(ctx, q, func(line *string) []any {
			dest := []any{new(any), new(any), new(any), line}
			return dest[len(dest)-columns:]
		}, command+query, args...)
		seen(query, plan)
		return err
	}}}
}

// observer observes each statement.
type observer struct {
	before func(ctx context.Context, q querier, query string, args []any) error // nil for none
	after  func(query string, rows int64)
}

func (o observer) begin(ctx context.Context, q querier, all ...statement) error {
	for _, s := range all {
		if o.before == nil {
			break
		}
		if err := o.before(ctx, q, s.query, s.args); err != nil {
			return err
		}
	}
	return nil
}

func (o observer) query(ctx context.Context, q querier, each rowFunc, query string, args []any) error {
	if err := o.begin(ctx, q, statement{query, args}); err != nil {
		return err
	}
	rows := int64(0)
	err := q.query(ctx, func(scan func(...any) error) error {
		rows++
		return each(scan)
	}, query, args...)
	o.after(query, rows)
	return err
}

type observedEngine struct {
	engine
	observer
}

func (e observedEngine) query(ctx context.Context, each rowFunc, query string, args ...any) error {
	return e.observer.query(ctx, e.engine, each, query, args)
}

func (e observedEngine) queryAll(ctx context.Context, each rowFunc, queries []statement) error {
	return errors.Join(e.begin(ctx, e.engine, queries...), e.engine.queryAll(ctx, each, queries))
}

func (e observedEngine) write(ctx context.Context, due func(marks), change func(transaction) error) error {
	return e.engine.write(ctx, due, func(tx transaction) error { return change(observedTransaction{tx, e.observer}) })
}

// observedTransaction executes statements one by one.
type observedTransaction struct {
	transaction
	observer
}

func (t observedTransaction) query(ctx context.Context, each rowFunc, query string, args ...any) error {
	return t.observer.query(ctx, t.transaction, each, query, args)
}

func (t observedTransaction) exec(ctx context.Context, query string, args ...any) (rows int64, err error) {
	if err := t.begin(ctx, t.transaction, statement{query, args}); err != nil {
		return 0, err
	}
	rows, err = t.transaction.exec(ctx, query, args...)
	t.after(query, rows)
	return rows, err
}

func (t observedTransaction) execAll(ctx context.Context, all []statement) error {
	for _, s := range all {
		if _, err := t.exec(ctx, s.query, s.args...); err != nil {
			return err
		}
	}
	return nil
}

func (t observedTransaction) last(ctx context.Context, each rowFunc, all ...statement) error {
	if each == nil {
		return t.execAll(ctx, all)
	}
	for _, q := range all {
		if err := t.query(ctx, each, q.query, q.args...); err != nil {
			return err
		}
	}
	return nil
}

func (t observedTransaction) lockAndQuery(ctx context.Context, names []string, each rowFunc, queries ...statement) ([]string, error) {
	if err := t.begin(ctx, t.transaction, queries...); err != nil {
		return nil, err
	}
	return t.transaction.lockAndQuery(ctx, names, each, queries...)
}

// Due is a subject and when work on it is due.
type Due struct {
	SubjectID string
	At        time.Time
}

// Due times, as queries.
const (
	RenderAt  = `SELECT subject_id, due_at FROM renderings ORDER BY due_at`
	DeliverAt = `SELECT subject_id, due_at FROM deliveries ORDER BY due_at`
)

// NextDue returns the subjects with a due time, the earliest first.
func (s *Store) NextDue(t *testing.T, query string) []Due {
	t.Helper()
	all, err := queryRows(t.Context(), s.engine, func(d *Due) []any { return []any{&d.SubjectID, instant{&d.At}} }, query)
	harness.Check(t, err)
	return all
}

// ClaimRendering claims one rendering. It returns "" if none is due.
func (s *Store) ClaimRendering(ctx context.Context, by string, now time.Time) (subjectID string, err error) {
	subjects, _, err := s.ClaimRenderings(ctx, by, now, 1)
	if len(subjects) > 0 {
		subjectID = subjects[0].ID
	}
	return subjectID, err
}

// NextDelivery returns the next delivery of a subject, or studio.ErrNotFound if it has no pending event.
func (s *Store) NextDelivery(ctx context.Context, subjectID string) (d Delivery, err error) {
	err = queryRow(ctx, s.engine, d.columns(), selectDelivery(s.engine, `FROM (SELECT * FROM deliveries WHERE subject_id = $1)`), subjectID)
	return d, err
}

// EndProcess releases the lock of the holder, as the system does at the end of the process.
func (h *LeaseHolder) EndProcess() error { return h.running.Close() }

// WrittenTables is writtenTables.
func WrittenTables() string { return writtenTables() }

// CheckPages is Check with pages of some subjects.
func (s *Store) CheckPages(ctx context.Context, rows int) ([]Violation, error) {
	return s.check(ctx, rows)
}

// SpanName calls spanName.
func SpanName(statement string) string { return spanName(statement) }
