package store

import (
	"context"
	"errors"

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

// txActive is the status of a transaction in which no statement has failed.
const txActive = 'T'

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

func (e *postgres) write(ctx context.Context, signal func(dueWork), change func(transaction) error) error {
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
	t := &postgresTransaction{postgresQuerier: postgresQuerier{tx}, tx: tx}
	defer func() {
		if !t.committed {
			_ = tx.Rollback(ctx) // does nothing after Commit
		}
	}()
	if err := change(t); err != nil {
		return err
	}
	if !t.committed {
		if err := t.commit(ctx, connection.Conn().PgConn().TxStatus()); err != nil {
			return err
		}
	}
	if err := confirmed(connection); err != nil {
		return err
	}
	connection.Release()
	signal(t.dueWork)
	return nil
}

// postgresTransaction is a transaction on PostgreSQL.
type postgresTransaction struct {
	postgresQuerier
	dueWork
	postgresDialect

	tx        pgx.Tx
	changed   bool // it changed or locked a row
	committed bool // by execLast
}

func (t *postgresTransaction) commit(ctx context.Context, status byte) error {
	if !t.changed && status == txActive {
		if _, err := t.exec(ctx, confirmCommits); err != nil {
			return err
		}
	}
	err := t.tx.Commit(ctx)
	if errors.Is(err, pgx.ErrTxCommitRollback) { // a parameter was not valid text, which no row can contain
		err = studio.ErrNotFound
	}
	return err
}

func (t *postgresTransaction) exec(ctx context.Context, query string, args ...any) (rows int64, err error) {
	rows, err = t.postgresQuerier.exec(ctx, query, args...)
	t.changed = t.changed || rows > 0
	return rows, err
}

func (t *postgresTransaction) query(
	ctx context.Context, each func(scan func(...any) error) error, query string, args ...any,
) error {
	tag, err := t.queryTag(ctx, each, query, args)
	t.changed = t.changed || !tag.Select() && tag.RowsAffected() > 0
	return err
}

// tryLock takes advisory locks. The name of the schema is part of it, so that services in different schemas
// of one database do not block each other.
func (t *postgresTransaction) tryLock(ctx context.Context, names []string) (locked []string, err error) {
	return queryRows(ctx, t, oneColumn[string],
		`SELECT name FROM unnest($1::text[]) name WHERE pg_try_advisory_xact_lock(hashtextextended(current_schema() || ' ' || name, 0))`, names)
}

// execAll sends all statements in one batch.
func (t *postgresTransaction) execAll(ctx context.Context, all []statement) (err error) {
	if len(all) == 0 {
		return nil
	}
	batch := new(pgx.Batch)
	for _, s := range all {
		batch.Queue(s.query, s.args...)
	}
	results := t.tx.SendBatch(ctx, batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	for range all {
		tag, err := results.Exec()
		if err != nil {
			return err
		}
		t.changed = t.changed || tag.RowsAffected() > 0
	}
	return nil
}

func (t *postgresTransaction) execLast(ctx context.Context, all []statement) error {
	if len(all) == 0 {
		return nil
	}
	err := t.execAll(ctx, append(all, statement{query: `COMMIT`}))
	t.committed = err == nil
	return err
}
