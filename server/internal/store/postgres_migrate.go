package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// A process that waits for another one to migrate polls every migrationPeriod seconds, and fails after
// migrationPeriods polls.
const (
	migrationPeriod  = 1
	migrationPeriods = 60
)

// migrate migrates the tables of a schema. It uses a lock, so that any number of daemons may start at the same time.
func (e *postgres) migrate(ctx context.Context, cfg Config) (err error) {
	db := stdlib.OpenDBFromPool(e.pool)
	defer func() { err = errors.Join(err, db.Close()) }()
	var exists, settings, unicode bool
	var schema sql.NullInt64
	err = db.QueryRowContext(ctx, `SELECT to_regclass('goose_db_version') IS NOT NULL, hashtextextended(current_schema(), 0),
		source = 'client', current_setting('server_encoding') = 'UTF8' FROM pg_settings WHERE name = 'jit'`).Scan(&exists, &schema, &settings, &unicode)
	switch {
	case err != nil:
		return err
	case !settings:
		return errPooler
	case !unicode: // it lacks characters, or does not tell them apart
		return errEncoding
	case cfg.MustExist && !exists:
		return errNoTables
	}
	if exists {
		migrations, err := newMigrator(goose.DialectPostgres, db, "postgres", cfg)
		if err != nil {
			return err
		}
		if pending, err := migrations.pending(ctx); err != nil || !pending {
			return err
		}
	}
	return e.migrateWithLock(ctx, schema.Int64, cfg)
}

// migrateWithLock migrates the tables while it holds the advisory lock with an ID. It uses connections of its own.
func (e *postgres) migrateWithLock(ctx context.Context, id int64, cfg Config) (err error) {
	settings := e.pool.Config()
	settings.ConnConfig.RuntimeParams["statement_timeout"] = "0" // building an index may take long
	settings.ConnConfig.DialFunc = newSockets(e.sockets.dial, migrationTimeout).connect
	settings.MaxConns, settings.MinConns, settings.MinIdleConns = 2, 0, 0 // one for the lock, one for goose
	pool, err := pgxpool.NewWithConfig(ctx, settings)
	if err != nil {
		return err
	}
	defer pool.Close()
	db := stdlib.OpenDBFromPool(pool)
	defer func() { err = errors.Join(err, db.Close()) }()
	migrations, err := newMigrator(goose.DialectPostgres, db, "postgres", cfg)
	if err != nil {
		return err
	}
	locker, err := lock.NewPostgresSessionLocker(
		lock.WithLockID(id), lock.WithLockTimeout(migrationPeriod, migrationPeriods))
	if err != nil {
		return err
	}
	connection, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	if err := locker.SessionLock(ctx, connection); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locker.SessionUnlock(context.WithoutCancel(ctx), connection)) }()
	// Each migration is a transaction, which may be in a deadlock with a running daemon.
	return retryAborted(func() error { return migrations.migrate(ctx) })
}
