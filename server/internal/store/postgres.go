package store

import (
	"cmp"
	"context"
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
)

const (
	// postgresConnections is the default size of the pool. A daemon uses two more connections: one renews its
	// lease and one listens.
	postgresConnections = 14
	// acquireTimeout bounds the wait for a connection of the pool.
	acquireTimeout = 5 * time.Second
	// postgresTries is for retryAborted.
	postgresTries = 5
)

// postgresSettings are the default settings of each connection; the DSN may override them. The timeouts bound
// every wait. Sequential scans are off because every query has an index, and the planner would scan a table
// if its statistics still say that the queue is empty. Bitmap scans are off because, unlike index scans, they do not
// mark the index entries of deleted rows, so that each claim of a queue would read them again until the next vacuum.
// JIT is off because a remaining scan then has so high a cost that PostgreSQL would compile the query for seconds. The
// encoding, the isolation and the level of messages, for the warning of a commit, are set because those of a role or a
// database may differ.
//
//nolint:gochecknoglobals // a table
var postgresSettings = map[string]string{
	"application_name":                    "studiod",
	"client_encoding":                     "UTF8",
	"client_min_messages":                 "warning", // see markUnconfirmed
	"default_transaction_isolation":       "read committed",
	"lock_timeout":                        "5s",
	"jit":                                 "off",
	"enable_seqscan":                      "off",
	"enable_bitmapscan":                   "off",
	"statement_timeout":                   "30s",
	"idle_in_transaction_session_timeout": "2s", // ends the transaction of a frozen or unreachable process
}

var (
	errPostgresForm = errors.New("the database must be postgres://USER:PASSWORD@HOST:PORT/DATABASE, with known settings")
	errEncoding     = errors.New("the encoding of the database must be UTF8: create it with TEMPLATE template0 ENCODING 'UTF8'")
	errNoTables     = errors.New("the database has no tables yet")
	errNoConnection = errors.New("no connection became free")
	errPooler       = errors.New("a pooler such as pgbouncer is not supported, because notifications, timeouts and prepared statements need sessions; connect to the port of PostgreSQL, with up to 16 connections for each daemon")
	errUnconfirmed  = errors.New("the commit may not have been replicated")
)

// postgres is the engine on PostgreSQL. Transactions are READ COMMITTED. They lock the rows that must not
// change before the commit.
type postgres struct {
	postgresDialect

	pool    *pgxpool.Pool
	sockets *sockets
	hosts   *hosts
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
	connection.ConnectTimeout = cmp.Or(connection.ConnectTimeout, connectTimeout)
	cfg.PingTimeout = cmp.Or(cfg.PingTimeout, heartbeatTimeout)
	connection.OnNotice = markUnconfirmed
	for setting, value := range postgresSettings {
		connection.RuntimeParams[setting] = cmp.Or(connection.RuntimeParams[setting], value)
	}
	host := net.JoinHostPort(connection.Host, strconv.Itoa(int(connection.Port)))
	named := url.URL{Scheme: "postgres", User: url.User(connection.User), Host: host, Path: "/" + connection.Database}
	return cfg, named.String(), nil
}

func openPostgres(ctx context.Context, settings *pgxpool.Config, cfg Config) (*postgres, error) {
	if cfg.Traces != nil {
		settings.ConnConfig.Tracer = newPostgresTracer(cfg.Traces)
	}
	e := &postgres{sockets: newSockets(settings.ConnConfig.DialFunc, answerTimeout)}
	settings.ConnConfig.DialFunc = e.sockets.connect
	e.hosts = newHosts(settings.ConnConfig)
	settings.BeforeConnect = e.hosts.choose
	var err error
	if e.pool, err = pgxpool.NewWithConfig(ctx, settings); err != nil {
		return nil, err
	}
	if err := e.migrate(ctx, cfg); err != nil {
		if postgresCode(err) == codeProtocolViolation { // it refuses the settings
			err = fmt.Errorf("%w: %w", errPooler, err)
		}
		return nil, errors.Join(markUnavailable(e, err), e.close())
	}
	return e, nil
}

func (e *postgres) close() error {
	e.pool.Close()
	return nil
}

// disconnect closes all connections, because the server does not respond. Their statements fail at once.
func (e *postgres) disconnect() {
	e.sockets.closeAll()
	e.pool.Reset()
}

// acquire waits up to acquireTimeout for a free connection. The caller releases it.
func (e *postgres) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	timeoutContext, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	connection, err := e.pool.Acquire(timeoutContext)
	if err != nil {
		if timeoutContext.Err() != nil && ctx.Err() == nil {
			err = errNoConnection
		}
		return nil, err
	}
	delete(connection.Conn().PgConn().CustomData(), unconfirmed)
	return connection, nil
}

// changed always reports false. Other processes send notifications.
func (e *postgres) changed(context.Context) (bool, error) { return false, nil }

// read calls use with a connection.
func (e *postgres) read(ctx context.Context, use func(connection *pgxpool.Conn) error) error {
	connection, err := e.acquire(ctx)
	if err == nil {
		defer connection.Release()
		err = use(connection)
	}
	return markUnavailable(e, err)
}

func (e *postgres) query(ctx context.Context, each rowFunc, query string, args ...any) error {
	return e.read(ctx, func(connection *pgxpool.Conn) error {
		rows, err := connection.Query(ctx, query, args...)
		if err == nil {
			_, err = forEachScan(rows, each)
		}
		return ignoreNotValid(err)
	})
}

// ignoreNotValid ignores that a parameter of a query is not valid text in PostgreSQL, which no row can contain.
func ignoreNotValid(err error) error {
	if postgresCode(err) == codeTextNotValid {
		return nil
	}
	return err
}

// queryAll runs queries in one batch. It returns after the commits that it has read are confirmed.
func (e *postgres) queryAll(ctx context.Context, each rowFunc, queries []statement) error {
	if len(queries) == 0 {
		return nil
	}
	batch := new(pgx.Batch)
	for _, query := range queries {
		batch.Queue(query.query, query.args...).Query(func(rows pgx.Rows) error {
			_, err := forEachScan(rows, each)
			return err
		})
	}
	batch.Queue(confirmCommits)
	return e.read(ctx, func(connection *pgxpool.Conn) error {
		err := connection.SendBatch(ctx, batch).Close()
		switch {
		case err == nil:
			return confirmed(connection)
		case len(queries) == 1:
			return ignoreNotValid(err)
		}
		return err
	})
}

// Error codes of PostgreSQL (Appendix A of its documentation).
const (
	codeWarning              = "01000"
	codeProtocolViolation    = "08P01"
	codeTextNotValid         = "22021" // character_not_in_repertoire
	codeMissing              = "23503" // foreign_key_violation
	codeDuplicate            = "23505" // unique_violation
	codeSerializationFailure = "40001"
	codeDeadlock             = "40P01"
	codeIdleInTransaction    = "25P03" // idle_in_transaction_session_timeout
	codeTransactionTimeout   = "25P04"
	codeReadOnly             = "25006" // on a standby, for instance
	codeNoPermission         = "42501"
	codeNoTable              = "42P01" // during a restore, for instance
)

func (e *postgres) duplicateKey(err error) bool { return postgresCode(err) == codeDuplicate }

func (e *postgres) missingReference(err error) bool { return postgresCode(err) == codeMissing }

// busy reports whether the server is unavailable for now, so that a retry may succeed. It is if the server refuses a
// connection, whatever its reason.
func (e *postgres) busy(err error) bool {
	code := postgresCode(err)
	if code == codeProtocolViolation { // it is of a pooler
		return false
	}
	if _, refused := errors.AsType[*pgconn.ConnectError](err); refused {
		return true
	}
	if code != "" {
		return postgresUnavailable(code)
	}
	var network net.Error
	return errors.Is(err, errNoConnection) || errors.Is(err, errTimeout) || errors.Is(err, errUnconfirmed) ||
		errors.As(err, &network) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}

// postgresUnavailable reports whether an error code is about the state of the server, and not about the statement.
func postgresUnavailable(code string) bool {
	switch code {
	case codeIdleInTransaction, codeTransactionTimeout, codeReadOnly, codeNoPermission, codeNoTable:
		return true
	}
	switch code[:min(2, len(code))] { // the class
	case "08", // connection exception
		"28", // invalid authorization, such as a changed password
		"3D", // invalid catalog name, such as that of a renamed database
		"3F", // invalid schema name
		"40", // transaction rollback, such as a deadlock
		"53", // insufficient resources, such as a full disk
		"55", // not in the required state, such as a lock that is not available
		"57", // operator intervention, such as a shutdown or statement_timeout
		"58", // system error
		"F0", // configuration file error
		"XX": // internal error, such as damaged data
		return true
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

// forEachScan calls each for the rows of a query.
func forEachScan(rows pgx.Rows, each rowFunc) (pgconn.CommandTag, error) {
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return rows.CommandTag(), err
		}
	}
	return rows.CommandTag(), rows.Err()
}
