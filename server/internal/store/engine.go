package store

import (
	"context"
	"errors"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// rowFunc is called for each row of a query, with a function that scans the row.
type rowFunc func(scan func(dest ...any) error) error

// querier runs queries with the parameters $1, $2 and so on.
type querier interface {
	query(ctx context.Context, each rowFunc, query string, args ...any) error
}

// transaction is a querier that also writes. Its changes are atomic.
type transaction interface {
	querier
	dialect
	exec(ctx context.Context, query string, args ...any) (rows int64, err error)
	// execAll executes several statements in order, in one round trip.
	execAll(ctx context.Context, all []statement) error
	// last runs the last statements of the transaction. On PostgreSQL it commits in the same round trip, so that a
	// process which freezes does not keep their locks. each may be nil if no statement returns rows.
	last(ctx context.Context, each rowFunc, all ...statement) error
	// lockAndQuery locks names until the end of the transaction, and then runs queries, in one round trip. It returns
	// the names that no other transaction has locked.
	lockAndQuery(ctx context.Context, names []string, each rowFunc, queries ...statement) (locked []string, err error)
	// mark marks a signal that follows the commit.
	mark(kind SignalKind, key string)
	// markRevoked marks a session for [Config.OnRevoke] after the commit.
	markRevoked(id string, at time.Time)
}

// statement is an SQL statement with its parameters.
type statement struct {
	query string
	args  []any
}

// engine is the implementation of a database, SQLite or PostgreSQL.
type engine interface {
	querier
	dialect
	// queryAll runs queries in one round trip. On PostgreSQL, what it returns survives the promotion of a synchronous
	// standby.
	queryAll(ctx context.Context, each rowFunc, queries []statement) error
	// write runs change in a transaction. It retries after deadlocks and serialization failures, so change
	// may run several times. After the commit it calls signal with the work that became due.
	write(ctx context.Context, signal func(marks), change func(tx transaction) error) error
	// changed reports whether another process has written since the last call.
	changed(ctx context.Context) (bool, error)
	// duplicateKey reports whether err is a violation of a unique key, and missingReference whether it is a
	// violation of a foreign key.
	duplicateKey(err error) bool
	missingReference(err error) bool
	// busy reports whether the database is unavailable for now, so that a retry may succeed.
	busy(err error) bool
	close() error
}

// unavailableError is an error of the database that wraps studio.ErrBusy and has the text of the cause only.
type unavailableError struct{ error }

func (e unavailableError) Unwrap() []error { return []error{studio.ErrBusy, e.error} }

// markUnavailable returns an unavailableError if err means that the database, or the key that encrypts a value in it,
// is unavailable for now, and else err.
func markUnavailable(e engine, err error) error {
	if e.busy(err) || errors.Is(err, keyring.ErrNoKey) {
		return unavailableError{err}
	}
	return err
}
