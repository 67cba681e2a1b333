package measure

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // database/sql's driver pgx
	_ "modernc.org/sqlite"             // database/sql's driver sqlite

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest" //nolint:depguard // for PostgreSQL
)

// The kinds of databases.
const (
	SQLite     = "SQLite"
	PostgreSQL = "PostgreSQL"
)

// Databases creates databases of one kind.
type Databases struct {
	Name string

	directory string // of the SQLite files
	server    string // URL of the PostgreSQL server
}

// OpenDatabases returns the available kinds of databases. It starts a PostgreSQL server, unless the environment variable
// STUDIO_TEST_POSTGRES has the URL of a server.
func OpenDatabases(directory string) (all []*Databases, stop func() error, err error) {
	all = []*Databases{{Name: SQLite, directory: directory}}
	server := os.Getenv("STUDIO_TEST_POSTGRES")
	stop = func() error { return nil }
	if server == "" {
		cluster, err := studiotest.StartCluster("fsync=on")
		if errors.Is(err, studiotest.ErrNotInstalled) {
			return all, stop, nil
		}
		if err != nil {
			return nil, stop, err
		}
		server, stop = cluster.DSN, cluster.Close
	}
	return append(all, &Databases{Name: PostgreSQL, server: server}), stop, nil
}

// Database is a new database.
type Database struct {
	*Databases

	DSN        string
	SQL        *sql.DB // not used by studiod
	Postmaster int     // process id of the PostgreSQL server; 0 on SQLite and on other machines

	schema string // on PostgreSQL
}

// Create creates a database. Its durability is that of the service.
func (d *Databases) Create(ctx context.Context) (*Database, error) {
	db := &Database{Databases: d}
	if d.Name == SQLite {
		directory, err := os.MkdirTemp(d.directory, "sqlite")
		if err != nil {
			return nil, err
		}
		path := filepath.Join(directory, "studio.db")
		db.DSN = "sqlite:" + path
		if db.SQL, err = sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)"); err != nil {
			return nil, err
		}
		db.SQL.SetMaxOpenConns(1)
		return db, nil
	}
	named, err := url.Parse(d.server)
	if err != nil {
		return nil, errors.New("STUDIO_TEST_POSTGRES must be a URL")
	}
	schema := "bench_" + strings.ToLower(rand.Text())
	query := named.Query()
	query.Set("search_path", schema)
	named.RawQuery = query.Encode()
	db.DSN = named.String()
	if db.SQL, err = sql.Open("pgx", db.DSN); err != nil {
		return nil, err
	}
	db.SQL.SetMaxOpenConns(Callers)
	db.SQL.SetMaxIdleConns(Callers)
	if _, err = db.SQL.ExecContext(ctx, "CREATE SCHEMA "+schema); err == nil {
		db.schema = schema
		db.Postmaster, err = harness.Postmaster(ctx, db.SQL)
	}
	if err != nil { //nolint:contextcheck // ctx may be done
		return nil, errors.Join(err, db.Drop())
	}
	return db, nil
}

// Drop removes the database.
func (db *Database) Drop() (err error) {
	if db.schema != "" {
		_, err = db.SQL.ExecContext(context.Background(), "DROP SCHEMA "+db.schema+" CASCADE")
	}
	err = errors.Join(err, db.SQL.Close())
	if path, ok := strings.CutPrefix(db.DSN, "sqlite:"); ok {
		err = errors.Join(err, os.RemoveAll(filepath.Dir(path)))
	}
	return err
}

// Callers is the number of concurrent transactions of [Database.Floor].
const Callers = 16

// Floor measures the baseline of a database. It returns how many transactions per second it commits for [Callers]
// concurrent callers, each with one written row.
func (db *Database) Floor(ctx context.Context, d time.Duration) (float64, error) {
	if _, err := db.SQL.ExecContext(ctx, `CREATE TABLE floor (n BIGINT)`); err != nil {
		return 0, err
	}
	rate, err := PerSecond(Callers, d, func() error {
		_, err := db.SQL.ExecContext(ctx, `INSERT INTO floor VALUES ($1)`, 1)
		return err
	})
	if err == nil {
		_, err = db.SQL.ExecContext(ctx, `DROP TABLE floor`)
	}
	return rate, err
}
