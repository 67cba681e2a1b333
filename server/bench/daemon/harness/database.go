package harness

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // database/sql's driver pgx
	_ "modernc.org/sqlite"             // database/sql's driver sqlite
)

// The kinds of databases.
const (
	SQLite     = "SQLite"
	PostgreSQL = "PostgreSQL"
)

// Callers is the number of concurrent transactions of [Floor].
const Callers = 16

// OpenSQLite opens a new database in a directory. The durability is that of the service.
func OpenSQLite(directory string) (dsn string, db *sql.DB, err error) {
	path := filepath.Join(directory, "studio.db")
	db, err = sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)")
	if err != nil {
		return "", nil, err
	}
	db.SetMaxOpenConns(1)
	return "sqlite:" + path, db, nil
}

// OpenPostgres opens a PostgreSQL database.
func OpenPostgres(dsn string) (*sql.DB, error) {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(Callers)
	db.SetMaxIdleConns(Callers)
	return db, nil
}

// Postmaster returns the process id of a PostgreSQL server, or 0 if the server is on another machine.
func Postmaster(ctx context.Context, db *sql.DB) (pid int, err error) {
	var backend int
	if err := db.QueryRowContext(ctx, `SELECT pg_backend_pid()`).Scan(&backend); err != nil {
		return 0, err
	}
	name, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(backend), "comm"))
	if strings.TrimSpace(string(name)) != "postgres" {
		return 0, nil
	}
	return readStat(backend).parent, nil
}

// Floor measures the baseline of a database. It returns how many transactions per second it commits for [Callers]
// concurrent callers, each with one written row.
func Floor(ctx context.Context, db *sql.DB, d time.Duration) (float64, error) {
	if _, err := db.ExecContext(ctx, `CREATE TABLE floor (n BIGINT)`); err != nil {
		return 0, err
	}
	rate, err := PerSecond(Callers, d, func() error {
		_, err := db.ExecContext(ctx, `INSERT INTO floor VALUES ($1)`, 1)
		return err
	})
	if err == nil {
		_, err = db.ExecContext(ctx, `DROP TABLE floor`)
	}
	return rate, err
}

// PerSecond calls do repeatedly from several goroutines and returns the number of calls per second.
func PerSecond(goroutines int, d time.Duration, do func() error) (float64, error) {
	var count atomic.Int64
	var working sync.WaitGroup
	errs := make([]error, goroutines)
	began := time.Now()
	for i := range goroutines {
		working.Go(func() {
			for time.Since(began) < d && errs[i] == nil {
				errs[i] = do()
				count.Add(1)
			}
		})
	}
	working.Wait()
	return float64(count.Load()) / time.Since(began).Seconds(), errors.Join(errs...)
}
