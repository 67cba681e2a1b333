package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/avatarstudio/avatarstudio/server/internal/regularfile"
)

// Errors of [Store.Backup] and [Restore].
var (
	// ErrNotSQLite means that the database is not SQLite. Use pg_dump and pg_restore for PostgreSQL.
	ErrNotSQLite = errors.New("this database is not SQLite")
	// ErrDamaged means that a file is not a complete backup.
	ErrDamaged = errors.New("the backup is incomplete or damaged")
)

// Backup writes a snapshot of the whole database to a new file that only its owner can read. Daemons may
// write to the database at the same time. Backup returns fs.ErrExist if the file exists. While the backup
// is incomplete it is named path.partial. Backup returns fs.ErrExist for that file, too: it may be deleted,
// unless another backup is writing it.
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
	return writeInto(ctx, db, path, "")
}

// writeInto writes a whole database to a new file, without what the statement without deletes, unless that is "".
func writeInto(ctx context.Context, db *sql.DB, path, without string) (err error) {
	partial := path + ".partial"
	if err := createPrivate(partial, os.O_EXCL); err != nil {
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
	if without != "" {
		copied, err := sql.Open("sqlite", anyModeDSN(partial, "_pragma=journal_mode(OFF)")) // of no use if interrupted
		if err != nil {
			return err
		}
		_, err = copied.ExecContext(ctx, without)
		if err = errors.Join(err, copied.Close()); err != nil {
			return err
		}
	}
	return regularfile.Rename(partial, path)
}

// Restore creates the database that dsn names from a backup and migrates it. Keys that sign access tokens are not
// restored: the database lacks sessions that began after the backup, so that their tokens could not be revoked.
// Restore returns fs.ErrExist if there is a database already, and [ErrDamaged] or [ErrNewer] if the backup cannot be
// used.
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
	if err := Vacant(dsn); err != nil {
		return errors.Join(err, lock.Close())
	}
	// Whoever left a partial file behind no longer has the lock.
	if err = os.Remove(path + ".partial"); err == nil || errors.Is(err, fs.ErrNotExist) {
		err = writeInto(ctx, from, path, `DELETE FROM signing_keys WHERE name LIKE '`+AccessTokenKey+`%'`)
	}
	if err = errors.Join(err, lock.Close()); err != nil {
		return err
	}
	db, err := Open(ctx, dsn, Config{MustExist: true})
	if err != nil {
		return err
	}
	return db.Close()
}

// Vacant returns fs.ErrExist if [Restore] would find a file where it creates a database, and [ErrNotSQLite] if it
// cannot create one.
func Vacant(dsn string) error {
	path, ok := strings.CutPrefix(dsn, "sqlite:")
	if !ok {
		return ErrNotSQLite
	}
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, fs.ErrExist)
		}
	}
	return nil
}

// openBackup opens a backup read-only, after it has verified the whole file.
func openBackup(ctx context.Context, path string) (_ *sql.DB, err error) {
	if err := checkDatabaseFile(path, true); err != nil {
		return nil, err
	}
	if path, err = filepath.EvalSymlinks(path); err == nil { // as SQLite does for the name of the log
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, err
	}
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 { // which immutable ignores
		return nil, fmt.Errorf("%w: its latest changes are in %s; use both files as the database, or back it up", ErrDamaged, path+"-wal")
	}
	db, err := sql.Open("sqlite", anyModeDSN(path, "mode=ro&immutable=1"))
	if err != nil {
		return nil, err
	}
	if err := verifyBackup(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// verifyBackup checks the integrity and the version of a backup.
func verifyBackup(ctx context.Context, db *sql.DB) error {
	var result string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&result); err != nil || result != "ok" {
		return fmt.Errorf("%w: %w", ErrDamaged, cmp.Or(err, errors.New(result)))
	}
	var version int64
	if err := db.QueryRowContext(ctx, `SELECT MAX(version_id) FROM goose_db_version`).Scan(&version); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	newest, err := newestMigration("sqlite")
	if err == nil && version > newest {
		err = allowsEarlier(ctx, db, version, newest)
	}
	return err
}
