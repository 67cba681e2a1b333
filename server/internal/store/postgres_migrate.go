package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// Somebody who finds another migrating asks again every migrationPeriod seconds, and gives up
// after migrationPeriods of them.
const (
	migrationPeriod  = 1
	migrationPeriods = 60
)

// migratePostgres brings the tables of a schema up to date, River's too, on connections of its own
// and with a lock, so that any number of daemons may start at once.
func migratePostgres(ctx context.Context, settings *pgxpool.Config, mustExist bool) (err error) {
	settings = settings.Copy()
	settings.ConnConfig.RuntimeParams["statement_timeout"] = "0"          // an index takes its time
	settings.MaxConns, settings.MinConns, settings.MinIdleConns = 3, 0, 0 // one locks, goose and River have one each
	pool, err := pgxpool.NewWithConfig(ctx, settings)
	if err != nil {
		return err
	}
	defer pool.Close()
	db := stdlib.OpenDBFromPool(pool)
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
	ours, err := migrationsOf(db)
	if err != nil {
		return err
	}
	rivers, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return err
	}
	if exists {
		if pending, err := isPending(ctx, ours, rivers); err != nil || !pending {
			return err
		}
	}
	return locked(ctx, db, schema.Int64, func() error {
		if _, err := rivers.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil { // ours change it
			return err
		}
		_, err := ours.Up(ctx)
		return err
	})
}

func migrationsOf(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(postgresMigrations, "migrations/postgres")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectPostgres, db, files)
}

func isPending(ctx context.Context, ours *goose.Provider, rivers *rivermigrate.Migrator[pgx.Tx]) (bool, error) {
	if pending, err := ours.HasPending(ctx); err != nil || pending {
		return pending, err
	}
	applied, err := rivers.ExistingVersions(ctx)
	return len(applied) < len(rivers.AllVersions()), err
}

// locked runs migrate while nobody else who asks for the lock with this id runs his.
func locked(ctx context.Context, db *sql.DB, id int64, migrate func() error) (err error) {
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
	return migrate()
}
