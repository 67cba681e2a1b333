package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
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
	partial := path + ".partial"
	if err := createNew(partial); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(partial))
		}
	}()
	reader, err := sql.Open("sqlite", sqliteDSN(e.path, ""))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	if _, err := reader.ExecContext(ctx, `VACUUM INTO ?`, partial); err != nil {
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
	if err := examineBackup(ctx, backup); err != nil {
		return err
	}
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
	err = copyBackup(backup, path)
	if err = errors.Join(err, lock.Close()); err != nil {
		return err
	}
	db, err := Open(ctx, dsn, Config{MustExist: true})
	if err != nil {
		return err
	}
	return db.Close()
}

// examineBackup reads the whole backup once, without changing it.
func examineBackup(ctx context.Context, path string) (err error) {
	if err := examine(path, true); err != nil {
		return err
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", strings.Replace(sqliteDSN(path, "mode=ro&immutable=1"), "_pragma=journal_mode(WAL)&", "", 1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var verdict string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&verdict); err != nil || verdict != "ok" {
		return errors.Join(ErrDamaged, err)
	}
	var version int
	if err := db.QueryRowContext(ctx, `SELECT MAX(version_id) FROM goose_db_version`).Scan(&version); err != nil {
		return errors.Join(ErrDamaged, err)
	}
	newest, err := newestMigration()
	if err == nil && version > newest {
		err = ErrNewer
	}
	return err
}

func newestMigration() (newest int, err error) {
	files, err := fs.Glob(sqliteMigrations, "migrations/sqlite/*.sql")
	if err != nil {
		return 0, err
	}
	version, err := goose.NumericComponent(files[len(files)-1])
	return int(version), err
}

func copyBackup(backup, path string) (err error) {
	from, err := os.Open(backup)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	partial := path + ".partial"
	if err := createNew(partial); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(partial))
		}
	}()
	to, err := os.OpenFile(partial, os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	return publish(partial, path)
}

// createNew makes an empty file that only its owner can read.
func createNew(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return file.Close()
}

// publish gives a whole file its name, which a loss of power does not undo.
func publish(partial, path string) error {
	for _, step := range []func() error{
		func() error { return syncFile(partial) },
		func() error { return os.Rename(partial, path) },
		func() error { return syncDirectory(filepath.Dir(path)) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func syncFile(path string) error {
	flag := os.O_RDWR
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		flag = os.O_RDONLY
	}
	file, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// syncDirectory does nothing on Windows, where directories have no such operation.
func syncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return syncFile(path)
}
