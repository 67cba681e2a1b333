package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/bench/daemon/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest" //nolint:depguard // for PostgreSQL
)

const (
	email    = "bench@example.com"
	password = "correct horse battery staple"
)

// databases creates databases of one kind.
type databases struct {
	name      string
	directory string // of the SQLite files
	server    string // URL of the PostgreSQL server
	program   string // studiod
}

// openDatabases returns the available kinds of databases. It starts a PostgreSQL server, unless the environment variable
// STUDIO_TEST_POSTGRES has the URL of a server.
func openDatabases(directory, program string) (all []*databases, stop func() error, err error) {
	all = []*databases{{name: harness.SQLite, directory: directory, program: program}}
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
	return append(all, &databases{name: harness.PostgreSQL, directory: directory, program: program, server: server}), stop, nil
}

// database is a new database with one user.
type database struct {
	*databases
	dsn    string
	sql    *sql.DB // not used by studiod
	userID string
	secret string
	schema string // schema on PostgreSQL
}

func (d *databases) create(ctx context.Context) (_ *database, err error) {
	db := &database{databases: d}
	if d.name == harness.SQLite {
		directory, err := os.MkdirTemp(d.directory, "sqlite")
		if err != nil {
			return nil, err
		}
		if db.dsn, db.sql, err = harness.OpenSQLite(directory); err != nil {
			return nil, err
		}
	} else if err := db.createSchema(ctx); err != nil {
		return nil, err
	}
	defer func() { //nolint:contextcheck // ctx may be done
		if err != nil {
			err = errors.Join(err, db.drop())
		}
	}()
	if db.userID, err = db.studiod(ctx, password, "user", "add", email); err != nil {
		return nil, err
	}
	db.secret, err = db.studiod(ctx, "", "secret", "show", email)
	return db, err
}

func (db *database) createSchema(ctx context.Context) error {
	named, err := url.Parse(db.server)
	if err != nil {
		return errors.New("STUDIO_TEST_POSTGRES must be a URL")
	}
	db.schema = "bench_" + strings.ToLower(rand.Text())
	query := named.Query()
	query.Set("search_path", db.schema)
	named.RawQuery = query.Encode()
	db.dsn = named.String()
	if db.sql, err = harness.OpenPostgres(db.dsn); err != nil {
		return err
	}
	_, err = db.sql.ExecContext(ctx, "CREATE SCHEMA "+db.schema)
	return err
}

// drop removes the database.
func (db *database) drop() error {
	var errs []error
	if db.schema != "" {
		_, err := db.sql.ExecContext(context.Background(), "DROP SCHEMA "+db.schema+" CASCADE")
		errs = append(errs, err)
	}
	errs = append(errs, db.sql.Close())
	if path, ok := strings.CutPrefix(db.dsn, "sqlite:"); ok {
		errs = append(errs, os.RemoveAll(filepath.Dir(path)))
	}
	return errors.Join(errs...)
}

// studiod runs a command of studiod and returns its standard output.
func (db *database) studiod(ctx context.Context, input string, args ...string) (string, error) {
	args = append(args[:2:2], append([]string{"--db", db.dsn}, args[2:]...)...)
	command := exec.CommandContext(ctx, db.program, args...) //nolint:gosec // built by this program
	command.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("studiod %s: %w: %s", args[0], err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// delivered waits until all events are recorded as delivered.
func (db *database) delivered(ctx context.Context) error {
	return db.until(ctx, 0, `SELECT -COUNT(*) FROM events WHERE state <> 'delivered'`)
}

// attempted waits until the given number of events have an attempt.
func (db *database) attempted(ctx context.Context, events int64) error {
	return db.until(ctx, events, `SELECT COUNT(DISTINCT event_id) FROM attempts`)
}

// until waits until a query returns at least want. It fails after a minute.
func (db *database) until(ctx context.Context, want int64, query string) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(time.Minute)
	for {
		n, err := db.number(ctx, query)
		if err != nil || n >= want {
			return err
		}
		select {
		case <-ticker.C:
		case <-timeout:
			return fmt.Errorf("%s is %d after a minute, want %d", query, n, want)
		}
	}
}

func (db *database) number(ctx context.Context, query string) (n int64, err error) {
	err = db.sql.QueryRowContext(ctx, query).Scan(&n)
	return n, err
}

// eventOrigin is the creation time and the origin of an event.
type eventOrigin struct {
	at     time.Time
	origin string
}

// eventOrigins returns the creation times and origins of all events, by id. studiod reads the clock just before it
// writes an event.
func (db *database) eventOrigins(ctx context.Context) (map[string]eventOrigin, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT e.id, e.created_at, s.origin FROM events e JOIN subjects s ON s.id = e.subject_id`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	all := make(map[string]eventOrigin)
	for rows.Next() {
		var id, origin string
		var at int64
		if err := rows.Scan(&id, &at, &origin); err != nil {
			return nil, err
		}
		all[id] = eventOrigin{time.UnixMicro(at), origin}
	}
	return all, rows.Err()
}

// postmaster returns the process id of the PostgreSQL server. It returns 0 for SQLite and for servers on other
// machines.
func (db *database) postmaster(ctx context.Context) (pid int, err error) {
	if db.name == harness.SQLite {
		return 0, nil
	}
	return harness.Postmaster(ctx, db.sql)
}
