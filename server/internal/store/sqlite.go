package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	sqlitedriver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	sqliteReaders  = 4
	migrationWait  = 10 * time.Second
	migrationRetry = 50 * time.Millisecond
)

//go:embed migrations/sqlite/*.sql
var sqliteMigrations embed.FS

// sqlite is one file with one writing connection and some reading ones. SQLite takes one
// writer at a time; a pool of them would only wait for each other and time out.
type sqlite struct {
	sqliteQuerier
	path       string
	writer     *sql.DB
	readers    *sql.DB
	lock       *flock.Flock
	group      group
	statements *statements            // of the writer
	version    atomic.Int64           // of the data, as the writer saw it
	files      map[string]fs.FileInfo // that were opened, by path
	lost       chan struct{}
	loseOnce   sync.Once
}

func openSQLite(ctx context.Context, path string, cfg Config) (_ *sqlite, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := examine(path, cfg.MustExist); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(path + ".lock")
	if cfg.Daemon {
		locked, err := lock.TryLock()
		if err != nil {
			return nil, err
		}
		if !locked {
			return nil, ErrInUse
		}
	}
	e := &sqlite{path: path, lock: lock, group: newGroup(), files: make(map[string]fs.FileInfo), lost: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close())
		}
	}()
	if err := createPrivate(path); err != nil {
		return nil, err
	}
	if e.files[path], err = os.Stat(path); err != nil {
		return nil, err
	}
	if e.writer, err = sql.Open("sqlite", sqliteDSN(path, "_txlock=immediate")); err != nil {
		return nil, err
	}
	e.writer.SetMaxOpenConns(1)
	if err := e.migrate(ctx, cfg.Daemon); err != nil {
		return nil, err
	}
	if cfg.Daemon { // nobody else renders
		if _, err = e.writer.ExecContext(ctx, `UPDATE subjects SET render_by = NULL WHERE render_by IS NOT NULL`); err != nil {
			return nil, err
		}
	}
	// The migration has read, so the log is there, and stays for as long as a connection is.
	if e.files[path+"-wal"], err = os.Stat(path + "-wal"); err != nil {
		return nil, err
	}
	if e.readers, err = sql.Open("sqlite", sqliteDSN(path, "_pragma=query_only(true)")); err != nil {
		return nil, err
	}
	e.readers.SetMaxOpenConns(sqliteReaders)
	e.readers.SetMaxIdleConns(sqliteReaders)
	e.sqliteQuerier, e.statements = sqliteQuerier{newStatements(e.readers)}, newStatements(e.writer)
	return e, nil
}

// examine looks at a file before anything is created beside it.
func examine(path string, mustExist bool) error {
	const magic = "SQLite format 3\x00"
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !mustExist:
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular() && !info.IsDir(): // a pipe would be waited for
		return ErrNoDatabase
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	head := make([]byte, len(magic))
	_, err = io.ReadFull(file, head)
	switch {
	case errors.Is(err, io.EOF): // an empty file becomes a database
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF), err == nil && string(head) != magic:
		return ErrNoDatabase
	}
	return err
}

// createPrivate makes the file readable by its owner only: it holds secrets.
func createPrivate(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// sqliteDSN carries the pragmas, because only the DSN reaches every connection of a pool.
// synchronous=FULL makes an acknowledged write survive a loss of power.
func sqliteDSN(path, options string) string {
	dsn := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()}
	dsn.RawQuery = "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
		"&_pragma=foreign_keys(true)&" + options
	return dsn.String()
}

// migrate brings the tables up to date. Two processes must not do that at once: a daemon has
// the lock already, a command takes it for the time, unless a daemon migrates meanwhile.
func (e *sqlite) migrate(ctx context.Context, locked bool) error {
	files, err := fs.Sub(sqliteMigrations, "migrations/sqlite")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, e.writer, files)
	if err != nil {
		return err
	}
	timeout := time.After(migrationWait)
	for {
		if pending, err := provider.HasPending(ctx); err != nil || !pending {
			return err
		}
		if !locked {
			if locked, err = e.lock.TryLock(); err != nil {
				return err
			}
			if locked {
				defer func() { _ = e.lock.Unlock() }()
				continue // somebody else may have just finished
			}
		}
		if locked {
			_, err := provider.Up(ctx)
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout:
			return ErrInUse
		case <-time.After(migrationRetry):
		}
	}
}

func (e *sqlite) close() error {
	var errs []error
	for _, db := range []*sql.DB{e.readers, e.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(append(errs, e.lock.Close())...)
}

// there returns ErrLost when the file, or its log, was deleted or replaced, or the file was emptied: what
// is written to it goes with this process.
func (e *sqlite) there() error {
	for path, opened := range e.files {
		file, err := os.Stat(path)
		if err == nil && os.SameFile(file, opened) && (file.Size() > 0 || path != e.path) {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		e.loseOnce.Do(func() { close(e.lost) })
		return ErrLost
	}
	return nil
}

// secureDelete says whether what is deleted or replaced is overwritten in the file.
func (e *sqlite) secureDelete(ctx context.Context, on bool) error {
	pragma := "PRAGMA secure_delete = OFF"
	if on {
		pragma = "PRAGMA secure_delete = ON"
	}
	_, err := e.writer.ExecContext(ctx, pragma)
	return err
}

// truncateLog empties the log, in which there may be what was replaced, as far as others do not read from it.
func (e *sqlite) truncateLog(ctx context.Context) error {
	_, err := e.writer.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// changed asks the writer: for any other connection, what this process writes is a change too.
func (e *sqlite) changed(ctx context.Context) (bool, error) {
	if err := e.there(); err != nil {
		return false, err
	}
	var version int64
	err := e.writer.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version)
	if err != nil {
		return false, err
	}
	return e.version.Swap(version) != version, nil
}

func (e *sqlite) duplicate(err error) bool {
	code := sqliteCode(err)
	return code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY || code == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}

func (e *sqlite) now() string { return (*sqliteTransaction)(nil).clock() }

func (e *sqlite) missing(err error) bool {
	return sqliteCode(err) == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY
}

// busy is also true of ErrLost: who asks again may find another daemon.
func (e *sqlite) busy(err error) bool {
	if errors.Is(err, ErrLost) {
		return true
	}
	return sqliteAway(err)
}

// sqliteAway reports whether err is about the file or what holds it, which may be mended, and not about
// the query.
func sqliteAway(err error) bool {
	switch sqliteCode(err) & 0xff { // of any extended code
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY,
		sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// sqliteCode returns the extended code of an error of SQLite's, and SQLITE_OK for any other.
func sqliteCode(err error) int {
	if failure, ok := errors.AsType[*sqlitedriver.Error](err); ok {
		return failure.Code()
	}
	return sqlite3.SQLITE_OK
}

// sqliteQuerier runs SQL on the readers.
type sqliteQuerier struct{ readers *statements }

func (q sqliteQuerier) query(
	ctx context.Context, each func(scan func(...any) error) error, query string, args ...any,
) (err error) {
	defer func() {
		if sqliteAway(err) {
			err = fmt.Errorf("%w: %w", studio.ErrBusy, err)
		}
	}()
	statement, err := q.readers.get(ctx, query) //nolint:sqlclosecheck // it stays for the next
	if err != nil {
		return err
	}
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, each)
}

func affected(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func eachRow(rows *sql.Rows, each func(scan func(...any) error) error) error {
	defer func() { _ = rows.Close() }() // Err reports what matters
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
