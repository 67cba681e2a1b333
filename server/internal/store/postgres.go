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
	"github.com/riverqueue/river"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// postgresConnections is what a daemon has, less two: one to renew its lease and one to listen.
	postgresConnections = 14
	// connectTimeout bounds making a connection, and acquireTimeout waiting for one of the pool.
	connectTimeout = 5 * time.Second
	acquireTimeout = 5 * time.Second
	// answerTimeout bounds a transaction or a query with all its waits, for a server that is paused.
	answerTimeout = 12 * time.Second
	// postgresTries is how often a transaction is tried that others keep from its commit.
	postgresTries = 5
)

// postgresSettings are those of each connection, where the DSN sets nothing else. The timeouts keep
// anybody from waiting for ever. Every query has an index; without statistics of the present the
// planner would scan tables instead, because it takes a queue that has filled for an empty one. A scan
// that is left counts as so expensive then that PostgreSQL would compile the query (JIT) for seconds.
//
//nolint:gochecknoglobals // a table
var postgresSettings = map[string]string{
	"lock_timeout":                        "5s",
	"jit":                                 "off",
	"enable_seqscan":                      "off",
	"statement_timeout":                   "30s",
	"idle_in_transaction_session_timeout": "2s", // of a process that is frozen or cannot be reached any more
}

//go:embed migrations/postgres/*.sql
var postgresMigrations embed.FS

var (
	errPostgresForm = errors.New("the database must be given as postgres://USER:PASSWORD@HOST:PORT/DATABASE, with settings that PostgreSQL and its pool know")
	errNoTables     = errors.New("the database has no tables yet")
	errNoConnection = errors.New("no connection became free")
	errNoAnswer     = errors.New("the database does not answer in time")
)

// postgres is a pool of connections. Transactions are READ COMMITTED: what they read they lock
// when it must not change before the commit.
type postgres struct {
	pool     *pgxpool.Pool
	inserter *river.Client[pgx.Tx]
}

// parsePostgres returns the settings of a pool, and the name of its database without the
// password. An error says nothing of the DSN, in which a password may stand anywhere.
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
	if err := migratePostgres(ctx, settings, cfg.MustExist); err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, settings)
	if err != nil {
		return nil, err
	}
	inserter, err := newInserter(pool)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &postgres{pool: pool, inserter: inserter}, nil
}

func (e *postgres) close() error {
	e.pool.Close()
	return nil
}

// acquire waits for a free connection, which the caller releases.
func (e *postgres) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	connection, err := e.pool.Acquire(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, errNoConnection
	}
	return connection, err
}

// changed is not asked: what other processes write comes by the queue.
func (e *postgres) changed(context.Context) (bool, error) { return false, nil }

func (e *postgres) query(
	ctx context.Context, each func(scan func(...any) error) error, query string, args ...any,
) (err error) {
	defer func() {
		if e.busy(err) {
			err = fmt.Errorf("%w: %w", studio.ErrBusy, err)
		}
	}()
	limited, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	connection, err := e.acquire(limited)
	if err != nil {
		return noAnswer(limited, err)
	}
	defer connection.Release()
	return noAnswer(limited, postgresQuerier{connection}.query(limited, each, query, args...))
}

// noAnswer adds to an error that it took too long, if it did.
func noAnswer(limited context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(limited), errNoAnswer) {
		err = fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	return err
}

func (e *postgres) write(ctx context.Context, due func(lines []Line), change func(transaction) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	for try := 1; ; try++ {
		err := noAnswer(limited, e.writeOnce(limited, due, change))
		switch postgresCode(err) {
		case codeSerializationFailure, codeDeadlock:
			if try < postgresTries {
				continue
			}
		}
		return err
	}
}

func (e *postgres) writeOnce(ctx context.Context, due func(lines []Line), change func(transaction) error) error {
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
	if err := e.insertJobs(ctx, t); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	connection.Release()
	if len(t.lines) > 0 {
		due(t.lines)
	}
	return nil
}

// insertJobs adds the jobs of a transaction.
func (e *postgres) insertJobs(ctx context.Context, t *postgresTransaction) error {
	if len(t.jobs) == 0 {
		return nil
	}
	_, err := e.inserter.InsertManyTx(ctx, t.tx, t.jobs)
	return err
}

// Conditions of PostgreSQL's (Appendix A of its documentation).
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
	codeIdleInTransaction    = "25P03" // it was, for too long
	codeReadOnly             = "25006" // of a standby, for instance
	codeNoSchema             = "3F000"
	codeNoTable              = "42P01" // while the database is restored, for instance
	codeInputOutput          = "58030"
	codeDataCorrupted        = "XX001"
	codeIndexCorrupted       = "XX002"
	codeAdminShutdown        = "57P01"
	codeCrashShutdown        = "57P02"
	codeCannotConnectNow     = "57P03"
)

func (e *postgres) duplicate(err error) bool { return postgresCode(err) == codeDuplicate }

func (e *postgres) now() string { return `(extract(epoch FROM now()) * 1000000)::bigint` }

func (e *postgres) missing(err error) bool { return postgresCode(err) == codeMissing }

// busy reports whether the server is not there, or not for us; a later try may find it.
func (e *postgres) busy(err error) bool {
	switch postgresCode(err) {
	case codeSerializationFailure, codeDeadlock, codeTooManyConnections, codeLockNotAvailable, codeQueryCanceled,
		codeDiskFull, codeOutOfMemory, codeIdleInTransaction, codeAdminShutdown, codeCrashShutdown, codeCannotConnectNow,
		codeReadOnly, codeNoSchema, codeNoTable, codeInputOutput, codeDataCorrupted, codeIndexCorrupted:
		return true
	case "":
		var connect *pgconn.ConnectError
		var network net.Error
		return errors.Is(err, errNoConnection) || errors.Is(err, errNoAnswer) || errors.As(err, &connect) ||
			errors.As(err, &network) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) ||
			errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
	}
	return false
}

// postgresCode returns the condition of an error of PostgreSQL's, and "" for any other.
func postgresCode(err error) string {
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failure.Code
	}
	return ""
}

type postgresTransaction struct {
	postgresQuerier
	tx    pgx.Tx
	jobs  []river.InsertManyParams
	lines []Line
}

// forUpdate leaves others free to refer to the row.
func (t *postgresTransaction) forUpdate() string { return " FOR NO KEY UPDATE" }

func (t *postgresTransaction) subjectDue() string { return duePostgres }

// claim takes an advisory lock of the schema's, so that services that share a database do not
// keep names from each other.
func (t *postgresTransaction) claim(ctx context.Context, name string) (free bool, err error) {
	err = one(ctx, t, []any{&free},
		`SELECT pg_try_advisory_xact_lock(hashtextextended(current_schema() || ' ' || $1, 0))`, name)
	return free, err
}

func (t *postgresTransaction) deliverDue(line Line) { t.lines = append(t.lines, line) }

func (t *postgresTransaction) renderDue(at time.Time) { t.jobs = append(t.jobs, newTurn(at)) }

func (t *postgresTransaction) clock() string {
	return `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`
}

// execAll sends all before it waits for the first.
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
		return nil // PostgreSQL keeps no such text, so no row has it
	}
	return rows.Err()
}
