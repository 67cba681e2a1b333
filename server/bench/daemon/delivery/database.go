package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
)

const (
	email    = "bench@example.com"
	password = "correct horse battery staple"
)

// database is a new database with one user.
type database struct {
	*measure.Database
	program string // studiod
	userID  string
	secret  string
}

func createDatabase(ctx context.Context, kind *measure.Databases, program string) (_ *database, err error) {
	db := &database{program: program}
	if db.Database, err = kind.Create(ctx); err != nil {
		return nil, err
	}
	if db.userID, err = db.studiod(ctx, password, "user", "add", email); err == nil {
		db.secret, err = db.studiod(ctx, "", "secret", "show", email)
	}
	if err != nil { //nolint:contextcheck // ctx may be done
		return nil, errors.Join(err, db.Drop())
	}
	return db, nil
}

// studiod runs a command of studiod and returns its standard output.
func (db *database) studiod(ctx context.Context, input string, args ...string) (string, error) {
	args = append(args[:2:2], append([]string{"--db", db.DSN}, args[2:]...)...)
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
	err = db.SQL.QueryRowContext(ctx, query).Scan(&n)
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
	rows, err := db.SQL.QueryContext(ctx, `SELECT e.id, e.created_at, s.origin FROM events e JOIN subjects s ON s.id = e.subject_id`)
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
