package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// With a synchronous standby, a commit waits until the standby has it. If the wait ends early, by a timeout or an
// operator, the transaction is committed on the primary only: other transactions see it, but a promotion of the
// standby loses it. PostgreSQL reports such a commit as a success, with a warning.
//
// A later commit that is confirmed covers all earlier ones. A transaction that changes no row does not wait. But its
// caller may answer from what it has read, such as the subject of an idempotency key, or send an event. So it runs
// confirmCommits.

// confirmCommits makes the commit of a transaction without changes wait for the synchronous standby. Without one, it
// does nothing.
const confirmCommits = `SELECT pg_logical_emit_message(true, 'studiod', '') WHERE current_setting('synchronous_standby_names') <> ''`

const commit = `COMMIT`

// txIdle is the status of a connection without a transaction, and txActive that of a transaction in which no statement
// has failed.
const (
	txIdle   = 'I'
	txActive = 'T'
)

// unconfirmed is the key of the mark that markUnconfirmed sets on a connection.
const unconfirmed = "unconfirmed"

// markUnconfirmed handles the notices of a connection. It marks the connection at the warning of a commit.
func markUnconfirmed(c *pgconn.PgConn, notice *pgconn.Notice) {
	if notice.Code == codeWarning {
		c.CustomData()[unconfirmed] = true
	}
}

// confirmed returns errUnconfirmed if the commit on a connection has not waited for the synchronous standby.
func confirmed(c *pgxpool.Conn) error {
	if c.Conn().PgConn().CustomData()[unconfirmed] != nil {
		return errUnconfirmed
	}
	return nil
}

func (e *postgres) write(ctx context.Context, signal func(marks), change func(transaction) error) error {
	return retryAborted(func() error { return e.writeOnce(ctx, signal, change) })
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

func (e *postgres) writeOnce(ctx context.Context, signal func(marks), change func(transaction) error) error {
	connection, err := e.acquire(ctx)
	if err != nil {
		return err
	}
	defer connection.Release()
	t := &postgresTransaction{connection: connection}
	if err = change(t); err == nil {
		err = t.commit(ctx)
	}
	if err == nil {
		err = confirmed(connection)
	}
	if err != nil {
		t.rollback(ctx)
	}
	connection.Release()
	if err != nil && t.committing && postgresCode(err) == "" {
		err = e.askOutcome(t.id, err) //nolint:contextcheck // ctx may have ended, which is why the answer was lost
		t.unsure = err != nil
	}
	if err == nil || t.unsure {
		signal(t.marks)
	}
	return err
}

const (
	// outcomeTimeout bounds askOutcome, which asks every outcomePause: a transaction whose COMMIT has not arrived is in
	// progress until the server notices that its connection is gone.
	outcomeTimeout = 2 * time.Second
	outcomePause   = 50 * time.Millisecond
	// transactionID identifies a transaction that has changed or locked a row. Its number is that of another
	// transaction on a standby that is promoted, so it contains when the server was started.
	transactionID = `SELECT COALESCE(pg_current_xact_id_if_assigned()::text || ' ' || extract(epoch FROM pg_postmaster_start_time()), '')`
)

// askOutcome returns nil if the transaction with an ID was committed, although its answer was lost. Otherwise, or if
// the server does not know or hangs, it returns lost.
func (e *postgres) askOutcome(id string, lost error) error {
	ctx, cancel := context.WithTimeout(context.Background(), outcomeTimeout)
	defer cancel()
	for err := lost; id != "" && ctx.Err() == nil && !errors.Is(err, errTimeout); {
		status := ""
		err = e.queryAll(ctx, func(scan func(...any) error) error { return scan(&status) }, []statement{{
			`SELECT pg_xact_status(split_part($1, ' ', 1)::xid8) WHERE split_part($1, ' ', 2) = extract(epoch FROM pg_postmaster_start_time())::text`,
			[]any{id},
		}})
		switch {
		case err == nil && status == "committed":
			return nil
		case err == nil && status != "in progress":
			return lost
		}
		studio.Pause(ctx, outcomePause)
	}
	return lost
}

// postgresTransaction is a transaction on PostgreSQL. It begins in the request of its first statement, and ends in one
// with the last.
type postgresTransaction struct {
	marks
	postgresDialect

	connection *pgxpool.Conn
	begun      bool
	id         string // see transactionID; "" if it is unknown
	changed    bool   // it changed or locked a row
	committing bool   // COMMIT was sent
	committed  bool
}

// commit commits, unless last did or the transaction is empty.
func (t *postgresTransaction) commit(ctx context.Context) error {
	switch {
	case t.committed || !t.begun:
		return nil
	case t.connection.Conn().PgConn().TxStatus() != txActive: // a parameter was not valid text, which no row can contain
		return studio.ErrNotFound
	case t.changed:
		return t.end(ctx, nil, nil)
	}
	return t.end(ctx, nil, []statement{{query: confirmCommits}})
}

// rollback rolls back what was not committed. If it fails, the pool closes the connection.
func (t *postgresTransaction) rollback(ctx context.Context) {
	if status := t.connection.Conn().PgConn().TxStatus(); status != txIdle {
		_, _ = t.connection.Exec(ctx, `ROLLBACK`)
	}
}

// send sends statements in one request. It passes the result of each to handle, with its index.
func (t *postgresTransaction) send(ctx context.Context, all []statement, handle func(i int, rows pgx.Rows) error) error {
	batch := new(pgx.Batch)
	if !t.begun {
		t.begun = true
		batch.Queue(`BEGIN`)
	}
	for i, s := range all {
		batch.Queue(s.query, s.args...).Query(func(rows pgx.Rows) error { return handle(i, rows) })
	}
	if t.committing = all[len(all)-1].query == commit; !t.committing && t.id == "" {
		batch.Queue(transactionID).QueryRow(func(row pgx.Row) error { return row.Scan(&t.id) })
	}
	return t.connection.SendBatch(ctx, batch).Close()
}

func (t *postgresTransaction) exec(ctx context.Context, query string, args ...any) (rows int64, err error) {
	err = t.send(ctx, []statement{{query, args}}, func(_ int, result pgx.Rows) error {
		rows, err = t.affected(result)
		return err
	})
	return rows, err
}

// affected returns the number of rows that a statement affected.
func (t *postgresTransaction) affected(result pgx.Rows) (rows int64, err error) {
	result.Close()
	rows = result.CommandTag().RowsAffected()
	t.changed = t.changed || rows > 0
	return rows, result.Err()
}

func (t *postgresTransaction) query(ctx context.Context, each rowFunc, query string, args ...any) error {
	return ignoreNotValid(t.send(ctx, []statement{{query, args}}, func(_ int, rows pgx.Rows) error { return t.forEach(rows, each) }))
}

// forEach calls each for the rows of a statement. Without each, it reads none.
func (t *postgresTransaction) forEach(rows pgx.Rows, each rowFunc) error {
	if each == nil {
		_, err := t.affected(rows)
		return err
	}
	tag, err := forEachScan(rows, each)
	t.changed = t.changed || !tag.Select() && tag.RowsAffected() > 0
	return err
}

func (t *postgresTransaction) last(ctx context.Context, each rowFunc, all ...statement) error {
	if len(all) == 0 {
		return nil // commit confirms what was read
	}
	return t.end(ctx, each, all)
}

// end runs statements and commits.
func (t *postgresTransaction) end(ctx context.Context, each rowFunc, all []statement) error {
	err := t.send(ctx, append(all, statement{query: commit}), func(_ int, rows pgx.Rows) error { return t.forEach(rows, each) })
	t.committed = err == nil
	return err
}

// lockAndQuery takes advisory locks. The name of the schema is part of it, so that services in different schemas
// of one database do not block each other.
func (t *postgresTransaction) lockAndQuery(ctx context.Context, names []string, each rowFunc, queries ...statement) (locked []string, err error) {
	lock := statement{
		`SELECT name FROM unnest((SELECT $1::text[])) name WHERE pg_try_advisory_xact_lock(hashtextextended(current_schema() || ' ' || name, 0))`,
		[]any{names},
	}
	err = t.send(ctx, append([]statement{lock}, queries...), func(i int, rows pgx.Rows) error {
		if i > 0 {
			return t.forEach(rows, each)
		}
		locked, err = pgx.AppendRows(locked, rows, pgx.RowTo[string])
		return err
	})
	return locked, err
}

// execAll sends all statements in one batch.
func (t *postgresTransaction) execAll(ctx context.Context, all []statement) error {
	if len(all) == 0 {
		return nil
	}
	return t.send(ctx, all, func(_ int, rows pgx.Rows) error { return t.forEach(rows, nil) })
}
