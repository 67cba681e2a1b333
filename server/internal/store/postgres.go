package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// postgresConnections is the default size of the pool. A daemon uses two more connections: one renews its
	// lease and one listens.
	postgresConnections = 14
	// connectTimeout bounds opening a connection. acquireTimeout bounds the wait for a connection of the pool.
	connectTimeout = 5 * time.Second
	acquireTimeout = 5 * time.Second
	// queryTimeout bounds a query or a transaction including all waits, in case the server hangs.
	queryTimeout = 12 * time.Second
	// postgresTries is for retryAborted.
	postgresTries = 5
)

// postgresSettings are the default settings of each connection; the DSN may override them. The timeouts bound
// every wait. Sequential scans are off because every query has an index, and the planner would scan a table
// if its statistics still say that the queue is empty. JIT is off because a remaining scan then has so high a
// cost that PostgreSQL would compile the query for seconds.
//
//nolint:gochecknoglobals // a table
var postgresSettings = map[string]string{
	"lock_timeout":                        "5s",
	"jit":                                 "off",
	"enable_seqscan":                      "off",
	"statement_timeout":                   "30s",
	"idle_in_transaction_session_timeout": "2s", // ends the transaction of a frozen or unreachable process
}

//go:embed migrations/postgres/*.sql
var postgresMigrations embed.FS

var (
	errPostgresForm = errors.New("the database must be postgres://USER:PASSWORD@HOST:PORT/DATABASE, with known settings")
	errNoTables     = errors.New("the database has no tables yet")
	errNoConnection = errors.New("no connection became free")
	errTimeout      = errors.New("the database does not respond in time")
)

// postgres is the engine on PostgreSQL. Transactions are READ COMMITTED. They lock the rows that must not
// change before the commit.
type postgres struct {
	pool *pgxpool.Pool
}

// pool returns the connection pool on PostgreSQL, and nil on SQLite.
func (s *Store) pool() *pgxpool.Pool {
	if e, ok := s.engine.(*postgres); ok {
		return e.pool
	}
	return nil
}

// parsePostgres returns the settings of the pool and the name of the database without the password. Its error
// contains no part of the DSN, because a malformed DSN may have the password anywhere.
func parsePostgres(dsn string) (cfg *pgxpool.Config, name string, err error) {
	cfg, err = pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, "", errPostgresForm
	}
	if !strings.Contains(dsn, "pool_max_conns=") {
		cfg.MaxConns = postgresConnections
	}
	connection := cfg.ConnConfig
	if connection.ConnectTimeout == 0 {
		connection.ConnectTimeout = connectTimeout
	}
	if connection.RuntimeParams["application_name"] == "" {
		connection.RuntimeParams["application_name"] = "studiod"
	}
	for setting, value := range postgresSettings {
		if connection.RuntimeParams[setting] == "" {
			connection.RuntimeParams[setting] = value
		}
	}
	host := net.JoinHostPort(connection.Host, strconv.Itoa(int(connection.Port)))
	named := url.URL{Scheme: "postgres", User: url.User(connection.User), Host: host, Path: "/" + connection.Database}
	return cfg, named.String(), nil
}

func openPostgres(ctx context.Context, settings *pgxpool.Config, cfg Config) (*postgres, error) {
	if cfg.Traces != nil {
		settings.ConnConfig.Tracer = newPostgresTracer(cfg.Traces)
	}
	pool, err := pgxpool.NewWithConfig(ctx, settings)
	if err != nil {
		return nil, err
	}
	e := &postgres{pool: pool}
	if err := migratePostgres(ctx, pool, cfg); err != nil {
		return nil, errors.Join(markUnavailable(e, err), e.close())
	}
	return e, nil
}

func (e *postgres) close() error {
	e.pool.Close()
	return nil
}

// acquire waits up to acquireTimeout for a free connection. The caller releases it.
func (e *postgres) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	timeoutContext, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	connection, err := e.pool.Acquire(timeoutContext)
	if err != nil && timeoutContext.Err() != nil && ctx.Err() == nil {
		return nil, errNoConnection
	}
	return connection, err
}

// changed always reports false. Other processes send notifications.
func (e *postgres) changed(context.Context) (bool, error) { return false, nil }

func (e *postgres) query(
	ctx context.Context, each func(scan func(...any) error) error, query string, args ...any,
) (err error) {
	defer func() { err = markUnavailable(e, err) }()
	timeoutContext, cancel := context.WithTimeoutCause(ctx, queryTimeout, errTimeout)
	defer cancel()
	connection, err := e.acquire(timeoutContext)
	if err != nil {
		return markTimeout(timeoutContext, err)
	}
	defer connection.Release()
	return markTimeout(timeoutContext, postgresQuerier{connection}.query(timeoutContext, each, query, args...))
}

// queryAll runs a query with each of several parameter lists, in one batch.
func (e *postgres) queryAll(
	ctx context.Context, each func(i int, scan func(...any) error) error, query string, args [][]any,
) (err error) {
	timeoutContext, cancel := context.WithTimeoutCause(ctx, queryTimeout, errTimeout)
	defer cancel()
	connection, err := e.acquire(timeoutContext)
	if err != nil {
		return err
	}
	defer connection.Release()
	batch := new(pgx.Batch)
	for i := range args {
		batch.Queue(query, args[i]...).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := each(i, rows.Scan); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	return connection.SendBatch(timeoutContext, batch).Close()
}

// markTimeout wraps err in errTimeout if the context ended by queryTimeout.
func markTimeout(timeoutContext context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(timeoutContext), errTimeout) {
		err = fmt.Errorf("%w: %w", errTimeout, err)
	}
	return err
}

func (e *postgres) write(ctx context.Context, signal func(dueWork), change func(transaction) error) error {
	timeoutContext, cancel := context.WithTimeoutCause(ctx, queryTimeout, errTimeout)
	defer cancel()
	return retryAborted(func() error { return markTimeout(timeoutContext, e.writeOnce(timeoutContext, signal, change)) })
}

// retryAborted runs a transaction again if PostgreSQL aborts it because of a deadlock or a serialization
// failure, up to postgresTries times in all.
func retryAborted(transaction func() error) (err error) {
	for range postgresTries {
		err = transaction()
		if code := postgresCode(err); code != codeSerializationFailure && code != codeDeadlock {
			break
		}
	}
	return err
}

func (e *postgres) writeOnce(ctx context.Context, signal func(dueWork), change func(transaction) error) error {
	connection, err := e.acquire(ctx)
	if err != nil {
		return err
	}
	defer connection.Release()
	tx, err := connection.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // does nothing after Commit
	t := &postgresTransaction{postgresQuerier: postgresQuerier{tx}, tx: tx}
	if err := change(t); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		if errors.Is(err, pgx.ErrTxCommitRollback) { // a parameter was not valid text, which no row can contain
			err = studio.ErrNotFound
		}
		return err
	}
	connection.Release()
	signal(t.dueWork)
	return nil
}

// Error codes of PostgreSQL (Appendix A of its documentation).
const (
	codeTextNotValid         = "22021" // character_not_in_repertoire
	codeMissing              = "23503" // foreign_key_violation
	codeDuplicate            = "23505" // unique_violation
	codeSerializationFailure = "40001"
	codeDeadlock             = "40P01"
	codeTooManyConnections   = "53300"
	codeLockNotAvailable     = "55P03"
	codeQueryCanceled        = "57014" // by statement_timeout
	codeDiskFull             = "53100"
	codeOutOfMemory          = "53200"
	codeIdleInTransaction    = "25P03" // idle_in_transaction_session_timeout
	codeReadOnly             = "25006" // on a standby, for instance
	codeNoSchema             = "3F000"
	codeNoTable              = "42P01" // during a restore, for instance
	codeInputOutput          = "58030"
	codeDataCorrupted        = "XX001"
	codeIndexCorrupted       = "XX002"
	codeAdminShutdown        = "57P01"
	codeCrashShutdown        = "57P02"
	codeCannotConnectNow     = "57P03"
)

func (e *postgres) duplicateKey(err error) bool { return postgresCode(err) == codeDuplicate }

func (e *postgres) now() string { return `(extract(epoch FROM now()) * 1000000)::bigint` }

func (e *postgres) missingReference(err error) bool { return postgresCode(err) == codeMissing }

// busy reports whether the server is unavailable for now, so that a retry may succeed.
func (e *postgres) busy(err error) bool {
	switch postgresCode(err) {
	case codeSerializationFailure, codeDeadlock, codeTooManyConnections, codeLockNotAvailable, codeQueryCanceled,
		codeDiskFull, codeOutOfMemory, codeIdleInTransaction, codeAdminShutdown, codeCrashShutdown, codeCannotConnectNow,
		codeReadOnly, codeNoSchema, codeNoTable, codeInputOutput, codeDataCorrupted, codeIndexCorrupted:
		return true
	case "":
		var connect *pgconn.ConnectError
		var network net.Error
		return errors.Is(err, errNoConnection) || errors.Is(err, errTimeout) || errors.As(err, &connect) ||
			errors.As(err, &network) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) ||
			errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
	}
	return false
}

// postgresCode returns the code of an error of PostgreSQL, or "" for any other error.
func postgresCode(err error) string {
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failure.Code
	}
	return ""
}

// postgresTransaction is a transaction on PostgreSQL.
type postgresTransaction struct {
	postgresQuerier
	dueWork

	tx pgx.Tx
}

// forUpdate uses NO KEY, which does not block foreign key checks on the row.
func (t *postgresTransaction) forUpdate() string { return " FOR NO KEY UPDATE" }

func (t *postgresTransaction) subjectDue() string { return duePostgres }

// tryLock takes an advisory lock. The name of the schema is part of it, so that services in different schemas
// of one database do not block each other.
func (t *postgresTransaction) tryLock(ctx context.Context, name string) (free bool, err error) {
	err = queryRow(ctx, t, []any{&free},
		`SELECT pg_try_advisory_xact_lock(hashtextextended(current_schema() || ' ' || $1, 0))`, name)
	return free, err
}

// renderAt is at most the time of the database, in case the clock of this process is ahead.
func (t *postgresTransaction) renderAt(parameter string) string {
	return `CASE WHEN ` + parameter + `::bigint IS NOT NULL THEN LEAST(` + parameter + `, ` + t.clock() + `) END`
}

func (t *postgresTransaction) clock() string {
	return `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`
}

// execAll sends all statements in one batch.
func (t *postgresTransaction) execAll(ctx context.Context, all []statement) (rows []int64, err error) {
	batch := new(pgx.Batch)
	for _, s := range all {
		batch.Queue(s.query, s.args...)
	}
	results := t.tx.SendBatch(ctx, batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	for range all {
		tag, err := results.Exec()
		if err != nil {
			return nil, err
		}
		rows = append(rows, tag.RowsAffected())
	}
	return rows, nil
}

// postgresQuerier runs SQL on a connection or a transaction.
type postgresQuerier struct {
	db interface {
		Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	}
}

func (q postgresQuerier) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := q.db.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

func (q postgresQuerier) query(
	ctx context.Context, each func(scan func(...any) error) error, query string, args ...any,
) error {
	rows, err := q.db.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	if postgresCode(rows.Err()) == codeTextNotValid {
		return nil // no row can contain text that is not valid in PostgreSQL
	}
	return rows.Err()
}
