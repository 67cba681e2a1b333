package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
)

// Errors of [Store.Backup] and [Restore].
var (
	// ErrNotSQLite: the server of the database makes backups and reads them back, by pg_dump and pg_restore.
	ErrNotSQLite = errors.New("this database is not SQLite")
	// ErrDamaged: the file is not a whole backup.
	ErrDamaged = errors.New("this is not a whole backup")
	// ErrNewer: the backup was made by a later version of this program.
	ErrNewer = errors.New("this backup was made by a later version")
)

// Backup writes the whole database to a new file, readable by its owner only. It shows the database at
// one moment, while daemons work on it. The error is fs.ErrExist when there is such a file. A file that
// is not whole has the name path.partial and may be deleted.
func (s *Store) Backup(ctx context.Context, path string) (err error) {
	e, ok := s.engine.(*sqlite)
	if !ok {
		return ErrNotSQLite
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fs.ErrExist)
	}
	db, err := sql.Open("sqlite", sqliteDSN(e.path, ""))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return writeInto(ctx, db, path)
}

// writeInto writes the whole of a database to a new file.
func writeInto(ctx context.Context, db *sql.DB, path string) (err error) {
	partial := path + ".partial"
	if err := createNew(partial); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(partial))
		}
	}()
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, partial); err != nil {
		return err
	}
	return publish(partial, path)
}

// Restore makes a backup the database that dsn names, and brings its tables up to date. There must be
// no database yet: the error is fs.ErrExist then, and [ErrDamaged] or [ErrNewer] when the backup
// cannot be used.
func Restore(ctx context.Context, backup, dsn string) (err error) {
	path, ok := strings.CutPrefix(dsn, "sqlite:")
	if !ok {
		return ErrNotSQLite
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	from, err := openBackup(ctx, backup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	lock := flock.New(path + ".lock")
	locked, err := lock.TryLock()
	if err != nil {
		return err
	}
	if !locked {
		return ErrInUse
	}
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, fs.ErrExist, lock.Close())
		}
	}
	err = writeInto(ctx, from, path)
	if err = errors.Join(err, lock.Close()); err != nil {
		return err
	}
	db, err := Open(ctx, dsn, Config{MustExist: true})
	if err != nil {
		return err
	}
	return db.Close()
}

// openBackup opens a backup that it has read once as a whole. It changes nothing.
func openBackup(ctx context.Context, path string) (_ *sql.DB, err error) {
	if err := examine(path, true); err != nil {
		return nil, err
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", strings.Replace(sqliteDSN(path, "mode=ro&immutable=1"), "_pragma=journal_mode(WAL)&", "", 1))
	if err != nil {
		return nil, err
	}
	if err := examineBackup(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func examineBackup(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&verdict); err != nil || verdict != "ok" {
		return errors.Join(ErrDamaged, err)
	}
	var version int
	if err := db.QueryRowContext(ctx, `SELECT MAX(version_id) FROM goose_db_version`).Scan(&version); err != nil {
		return errors.Join(ErrDamaged, err)
	}
	newest, err := newestMigration(sqliteMigrations)
	if err == nil && version > newest {
		err = ErrNewer
	}
	return err
}

func newestMigration(migrations fs.FS) (newest int, err error) {
	files, err := fs.Glob(migrations, "migrations/*/*.sql")
	if err != nil {
		return 0, err
	}
	version, err := goose.NumericComponent(files[len(files)-1])
	return int(version), err
}

// createNew makes an empty file that only its owner can read.
func createNew(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return file.Close()
}

// publish gives a whole file its name, which a loss of power does not undo. Directories cannot be synced
// on Windows.
func publish(partial, path string) error {
	if err := syncFile(partial, os.O_RDWR); err != nil {
		return err
	}
	if err := os.Rename(partial, path); err != nil || runtime.GOOS == "windows" {
		return err
	}
	return syncFile(filepath.Dir(path), os.O_RDONLY)
}

func syncFile(path string, flag int) error {
	file, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
