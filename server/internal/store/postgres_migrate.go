package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Somebody who finds another migrating asks again every migrationPeriod seconds, and gives up
// after migrationPeriods of them.
const (
	migrationPeriod  = 1
	migrationPeriods = 60
)

// migratePostgres brings the tables of a schema up to date, on a connection of its own and with a
// lock, so that any number of daemons may start at once.
func migratePostgres(ctx context.Context, cfg *pgx.ConnConfig, mustExist bool) (err error) {
	cfg = cfg.Copy()
	cfg.RuntimeParams["statement_timeout"] = "0" // an index takes its time
	db := stdlib.OpenDB(*cfg)
	defer func() { err = errors.Join(err, db.Close()) }()
	var exists bool
	var schema sql.NullInt64
	err = db.QueryRowContext(ctx, `SELECT to_regclass('goose_db_version') IS NOT NULL, hashtextextended(current_schema(), 0)`).
		Scan(&exists, &schema)
	if err != nil {
		return err
	}
	if mustExist && !exists {
		return errNoTables
	}
	provider, err := migrationsOf(db, schema.Int64)
	if err != nil {
		return err
	}
	if exists {
		if pending, err := provider.HasPending(ctx); err != nil || !pending {
			return err
		}
	}
	_, err = provider.Up(ctx)
	return err
}

func migrationsOf(db *sql.DB, lockID int64) (*goose.Provider, error) {
	files, err := fs.Sub(postgresMigrations, "migrations/postgres")
	if err != nil {
		return nil, err
	}
	locker, err := lock.NewPostgresSessionLocker(
		lock.WithLockID(lockID), lock.WithLockTimeout(migrationPeriod, migrationPeriods))
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker))
}
