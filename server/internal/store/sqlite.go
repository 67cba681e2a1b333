package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	sqlitedriver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	sqliteReaders  = 4
	migrationWait  = 10 * time.Second
	migrationRetry = 50 * time.Millisecond
	// checkpointPages is the size of the write-ahead log after which a commit copies it to the file, 16 MiB. A page
	// that several commits have changed is copied once. A larger log would delay this commit by more than 100 ms on a
	// slow disk.
	checkpointPages = 4000
	// keptLog is the size, in bytes, to which a log is truncated that readers have made larger.
	keptLog = 20 << 20
)

var errOtherTables = errors.New("the file is a database of another program")

// sqlite is the engine on an SQLite file. It has one connection that writes and several that read. SQLite
// allows one writer at a time; a pool of writers would wait for each other and time out.
type sqlite struct {
	sqliteDialect

	path       string
	writer     *sql.DB
	readers    *sql.DB
	lock       *flock.Flock
	fileLock   *flock.Flock // of a daemon, on the file itself; nil if it has none
	writes     *commitQueue[*member]
	synced     bool                   // commits of the writer wait for the disk; see withoutSync
	reading    *statements            // prepared on the readers
	statements *statements            // prepared on the writer
	version    atomic.Int64           // the last data_version of the writer
	files      map[string]fs.FileInfo // the opened files, by path
	lost       chan struct{}
	loseOnce   sync.Once
}

func openSQLite(ctx context.Context, path string, cfg Config) (_ *sqlite, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := checkDatabaseFile(path, cfg.MustExist); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(path + ".lock")
	if cfg.Exclusive {
		locked, err := lock.TryLock()
		if err != nil {
			return nil, err
		}
		if !locked {
			return nil, ErrInUse
		}
	}
	e := &sqlite{path: path, lock: lock, files: make(map[string]fs.FileInfo), lost: make(chan struct{})}
	e.writes = &commitQueue[*member]{commit: e.commit}
	defer func() {
		if err != nil {
			err = errors.Join(markUnavailable(e, err), e.close())
		}
	}()
	if err := createPrivate(path, 0); err != nil {
		return nil, err
	}
	if err := e.lockFile(cfg.Exclusive); err != nil {
		return nil, err
	}
	if e.files[path], err = os.Stat(path); err != nil {
		return nil, err
	}
	if err := checkTables(ctx, path, cfg.MustExist); err != nil {
		return nil, err
	}
	// Before a statement that can fail halfway changes a page, SQLite copies the page: see orFail. In a temporary file,
	// a copy takes two system calls, and on some file systems the deletion of the file delays commits.
	options := fmt.Sprintf("_txlock=immediate&_pragma=temp_store(memory)&_pragma=wal_autocheckpoint(%d)&_pragma=journal_size_limit(%d)",
		checkpointPages, keptLog)
	if e.writer, err = openSQLiteDSN(sqliteDSN(path, options), cfg.Traces); err != nil {
		return nil, err
	}
	e.writer.SetMaxOpenConns(1)
	if err := e.migrate(ctx, cfg); err != nil {
		return nil, err
	}
	if cfg.Exclusive { // no other process renders
		if _, err = e.writer.ExecContext(ctx, `UPDATE renderings SET process_id = NULL WHERE process_id IS NOT NULL`); err != nil {
			return nil, err
		}
	}
	// The migration has created the write-ahead log. It exists as long as a connection is open.
	if e.files[path+"-wal"], err = os.Stat(path + "-wal"); err != nil {
		return nil, err
	}
	if e.readers, err = openSQLiteDSN(sqliteDSN(path, "_pragma=query_only(true)"), cfg.Traces); err != nil {
		return nil, err
	}
	e.readers.SetMaxOpenConns(sqliteReaders)
	e.readers.SetMaxIdleConns(sqliteReaders)
	e.reading, e.statements = newStatements(e.readers), newStatements(e.writer)
	return e, nil
}

// lockFile locks the file of an exclusive store, too, because somebody may delete the lock file. The lock does not
// concern the locks of SQLite on Linux. Elsewhere it would, so there is none.
func (e *sqlite) lockFile(exclusive bool) error {
	if !exclusive || runtime.GOOS != "linux" {
		return nil
	}
	e.fileLock = flock.New(e.path, flock.SetFlag(os.O_RDWR))
	locked, err := e.fileLock.TryLock()
	if err == nil && !locked {
		err = ErrInUse
	}
	return err
}

// checkDatabaseFile checks that a file is an SQLite database or empty, before any file is created next to it.
func checkDatabaseFile(path string, mustExist bool) error {
	const magic = "SQLite format 3\x00"
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !mustExist:
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular() && !info.IsDir(): // opening a pipe would block
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

// checkTables checks that a file has the tables of this program, or none if they may be created. It changes nothing in
// a file of another program.
func checkTables(ctx context.Context, path string, mustExist bool) (err error) {
	db, err := sql.Open("sqlite", anyModeDSN(path, ""))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var all, ours int
	err = db.QueryRowContext(ctx, `SELECT COUNT(*), COUNT(*) FILTER (WHERE name = 'goose_db_version') FROM sqlite_schema`).Scan(&all, &ours)
	switch {
	case err != nil || ours > 0:
		return err
	case all > 0:
		return errOtherTables
	case mustExist:
		return errNoTables
	}
	return nil
}

// createPrivate creates a file that only its owner can read, because it will hold secrets. With os.O_EXCL it returns
// fs.ErrExist if the file exists.
func createPrivate(path string, flag int) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|flag, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// busyTimeout is the pragma for how long a connection waits for the lock of another one, in milliseconds.
const busyTimeout = "busy_timeout(5000)"

// sqliteDSN returns the DSN of a file. It contains the pragmas, because only the DSN applies to every
// connection of a pool. With synchronous=FULL an acknowledged write survives a power loss.
func sqliteDSN(path, options string) string {
	dsn := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()}
	dsn.RawQuery = "_pragma=" + busyTimeout + "&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
		"&_pragma=foreign_keys(true)&_pragma=cache_size(-8192)&" + options // the cache size is in KiB, negated
	return dsn.String()
}

// anyModeDSN is sqliteDSN for a file whose journal mode stays as it is.
func anyModeDSN(path, options string) string {
	return strings.Replace(sqliteDSN(path, options), "_pragma=journal_mode(WAL)&", "", 1)
}

// migrate migrates the tables. Only the process that holds the lock file may migrate. A daemon holds the lock
// already. A command takes it, or waits up to migrationWait for another process to migrate.
func (e *sqlite) migrate(ctx context.Context, cfg Config) error {
	migrations, err := newMigrator(goose.DialectSQLite3, e.writer, "sqlite", cfg)
	if err != nil {
		return err
	}
	timeout := time.After(migrationWait)
	for locked := cfg.Exclusive; ; {
		pending, err := migrations.pending(ctx)
		busy := sqliteCode(err)&0xff == sqlite3.SQLITE_BUSY // another process makes the file's first tables
		if !busy && (err != nil || !pending) {
			return err
		}
		if !locked {
			if locked, err = e.lock.TryLock(); err != nil {
				return err
			}
			if locked {
				defer func() { _ = e.lock.Unlock() }()
				continue // another process may have just migrated
			}
		}
		if locked && !busy {
			return migrations.migrate(ctx)
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
	if e.fileLock != nil { // after SQLite, whose locks on the file end with this
		errs = append(errs, e.fileLock.Close())
	}
	return errors.Join(append(errs, e.lock.Close())...)
}

// checkFiles returns ErrLost if the file or its write-ahead log was deleted or replaced, or the file was
// emptied. Writes would then be lost when this process ends.
func (e *sqlite) checkFiles() error {
	for path, opened := range e.files {
		file, err := os.Stat(path)
		if err == nil && os.SameFile(file, opened) && (file.Size() > 0 || path != e.path) {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unavailableError{err}
		}
		e.loseOnce.Do(func() { close(e.lost) })
		return ErrLost
	}
	return nil
}

// pragma runs a pragma on the connection of the writer.
func (e *sqlite) pragma(ctx context.Context, text string) error {
	_, err := e.writer.ExecContext(ctx, "PRAGMA "+text)
	return err
}

// emptyLog truncates the write-ahead log without a wait for readers. It reports whether it has emptied the log.
func (e *sqlite) emptyLog(ctx context.Context) bool {
	connection, err := e.writer.Conn(ctx)
	if err != nil {
		return false
	}
	defer func() { _ = connection.Close() }()
	busy, pages := 1, 0
	if _, err = connection.ExecContext(ctx, "PRAGMA busy_timeout(0)"); err == nil {
		err = connection.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &pages)
	}
	if _, resetErr := connection.ExecContext(ctx, "PRAGMA "+busyTimeout); resetErr != nil {
		err = resetErr
	}
	return err == nil && busy == 0
}

// changed uses the connection of the writer, because to any other connection the writes of this process are
// changes, too.
func (e *sqlite) changed(ctx context.Context) (bool, error) {
	if err := e.checkFiles(); err != nil {
		return false, err
	}
	var version int64
	err := e.writer.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version)
	if err != nil {
		return false, err
	}
	return e.version.Swap(version) != version, nil
}

func (e *sqlite) duplicateKey(err error) bool {
	code := sqliteCode(err)
	return code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY || code == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}

func (e *sqlite) missingReference(err error) bool {
	return sqliteCode(err) == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY
}

// busy reports whether err is caused by the file or its disk, which may recover, and not by the query. After ErrLost, a
// retry may reach another daemon.
func (e *sqlite) busy(err error) bool {
	switch sqliteCode(err) & 0xff { // the primary code of an extended code
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY,
		sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_PERM,
		sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOLFS:
		return true
	}
	return errors.Is(err, ErrLost)
}

// sqliteCode returns the extended code of an error of SQLite, or SQLITE_OK for any other error.
func sqliteCode(err error) int {
	if failure, ok := errors.AsType[*sqlitedriver.Error](err); ok {
		return failure.Code()
	}
	return sqlite3.SQLITE_OK
}

// query runs a query on the readers.
func (e *sqlite) query(ctx context.Context, each rowFunc, query string, args ...any) (err error) {
	defer func() { err = markUnavailable(e, err) }()
	statement, err := e.reading.get(ctx, query) //nolint:sqlclosecheck // the statement stays prepared
	if err != nil {
		return err
	}
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, each)
}

// queryAll runs queries one after the other.
func (e *sqlite) queryAll(ctx context.Context, each rowFunc, queries []statement) error {
	for _, one := range queries {
		if err := e.query(ctx, each, one.query, one.args...); err != nil {
			return err
		}
	}
	return nil
}

// eachRow calls each for every row and closes rows.
func eachRow(rows *sql.Rows, each rowFunc) error {
	defer func() { _ = rows.Close() }() // errors are those of rows.Err
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
