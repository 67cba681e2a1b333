package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/pressly/goose/v3"
)

// ErrNewer means that a later version of this program has migrated the database or the backup, to tables that this
// version cannot use.
var ErrNewer = errors.New("made by a later version of this program")

// migrations are the migrations of each database, in a folder with its name.
//
//go:embed migrations/*/*.sql
var migrations embed.FS

// migrator migrates the tables of a database.
type migrator struct {
	*goose.Provider
	db     *sql.DB
	logger *slog.Logger
}

// newMigrator returns a migrator with the migrations in a folder.
func newMigrator(dialect goose.Dialect, db *sql.DB, folder string, cfg Config) (*migrator, error) {
	files, err := fs.Sub(cfg.migrations, "migrations/"+folder)
	if err != nil {
		return nil, err
	}
	provider, err := goose.NewProvider(dialect, db, files)
	return &migrator{provider, db, cfg.Logger}, err
}

// newestMigration returns the version of the last migration in a folder.
func newestMigration(folder string) (version int64, err error) {
	files, err := fs.Glob(migrations, "migrations/"+folder+"/*.sql")
	if err != nil {
		return 0, err
	}
	return goose.NumericComponent(files[len(files)-1])
}

// pending reports whether the tables lack a migration. It returns ErrNewer if they have one that this program does not
// know, unless the newest one allows this program to use the tables, as the previous version does during a rolling
// update.
func (m *migrator) pending(ctx context.Context) (bool, error) {
	version, newest, err := m.GetVersions(ctx)
	if err != nil || version <= newest {
		return version < newest, err
	}
	if err := allowsEarlier(ctx, m.db, version, newest); err != nil {
		return false, err
	}
	m.logger.WarnContext(ctx, "a later version of this program has migrated the database; this version can use it for now", "version", version, "known", newest)
	return false, nil
}

// allowsEarlier returns ErrNewer unless the tables of a version allow a program that knows versions up to newest.
func allowsEarlier(ctx context.Context, db *sql.DB, version, newest int64) error {
	var allows, oldest int64
	err := db.QueryRowContext(ctx, `SELECT version, oldest FROM compatibility`).Scan(&allows, &oldest)
	if err == nil && (allows != version || newest < oldest) {
		err = fmt.Errorf("%w: its tables have version %d, and this program knows versions up to %d", ErrNewer, version, newest)
	}
	return err
}

// migrate runs all migrations that the tables lack. Another process may have run them meanwhile.
func (m *migrator) migrate(ctx context.Context) error {
	version, newest, err := m.GetVersions(ctx)
	if err != nil || version >= newest {
		return err
	}
	began := time.Now()
	if version > 0 { // the database is not new
		m.logger.InfoContext(ctx, "migrating the database", "from", version, "to", newest)
	}
	if _, err = m.Up(ctx); err == nil && version > 0 {
		m.logger.InfoContext(ctx, "the database is migrated", "version", newest, "duration", time.Since(began))
	}
	return err
}
