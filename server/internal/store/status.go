package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"time"
)

// MaxCounted is the highest count that [Store.Status] returns. It bounds the cost of the count.
const MaxCounted = 100_000

// Status is the due work in the database, for all processes together. Work that a user, an origin, a lack of workers or
// a pause of all deliveries delays counts as due, but not the deliveries of a URL that is paused.
type Status struct {
	Rendering    Waiting // due renderings that no process renders
	Delivery     Waiting // subjects with a due event
	OpenBreakers int
	PausedSince  time.Time // since when all deliveries are paused; zero if they are not
}

// Waiting is the due work of one kind. If Count is [MaxCounted], there may be more work, and older work.
type Waiting struct {
	Count  int
	Oldest time.Duration // how long the oldest has been due; 0 if there is none
}

// Status returns the work that is due by the clock of the database.
func (s *Store) Status(ctx context.Context) (status Status, err error) {
	var render, deliver int64
	now := now(s.engine)
	// The plus sign makes the planner use the index of running renderings, and not that of waiting ones.
	err = queryRow(ctx, s.engine, []any{&status.Delivery.Count, &deliver, &status.Rendering.Count, &render, &status.OpenBreakers, instant{&status.PausedSince}}, `
		SELECT due.n, COALESCE(`+now+` - due.oldest, 0), r.n - u.n, COALESCE(`+now+` - (SELECT due_at FROM renderings
				WHERE due_at <= `+now+` AND (process_id IS NULL OR leased_until < `+now+`) ORDER BY due_at LIMIT 1), 0), b.n,
			(SELECT paused_at FROM pauses WHERE user_id = '' AND url = '')
		FROM (SELECT COUNT(*) AS n, MIN(due_at) AS oldest
				FROM (SELECT user_id, url, due_at FROM deliveries WHERE due_at <= `+now+` ORDER BY user_id, origin, due_at `+limitTo("$1")+`) w
				WHERE NOT EXISTS (SELECT 1 FROM pauses) OR NOT EXISTS
					(SELECT 1 FROM pauses p WHERE p.user_id = w.user_id AND p.url = w.url)) due,
			(SELECT COUNT(*) AS n FROM (SELECT due_at FROM renderings WHERE due_at <= `+now+` ORDER BY due_at `+limitTo("$1")+`) w) r,
			(SELECT COUNT(*) AS n FROM renderings WHERE process_id IS NOT NULL AND +due_at <= `+now+` AND leased_until >= `+now+`) u,
			(SELECT COUNT(*) AS n FROM breakers WHERE until > `+now+`) b`, MaxCounted)
	status.Rendering.Count = max(status.Rendering.Count, 0) // a running rendering may not be among those counted
	status.Delivery.Oldest = time.Duration(deliver) * time.Microsecond
	status.Rendering.Oldest = time.Duration(render) * time.Microsecond
	return status, err
}

// ErrNotMigrated means that the tables lack a migration of this version; see [Store.Ready].
var ErrNotMigrated = errors.New("the tables are of an earlier version")

// Ready returns nil if the database can be read and is migrated to this version.
func (s *Store) Ready(ctx context.Context) error {
	folder := "postgres"
	if e, ok := s.engine.(*sqlite); ok {
		if err := e.checkFiles(); err != nil {
			return err
		}
		folder = "sqlite"
	}
	newest, err := newestMigration(folder)
	if err != nil {
		return err
	}
	var applied int64
	err = queryRow(ctx, s.engine, []any{&applied}, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied`)
	if err == nil && applied < newest {
		err = ErrNotMigrated
	}
	return err
}

// writtenTables returns the tables that every daemon writes, with commas between them. Those of leases are not among
// them, because a lease shows that they can be written.
//
//nolint:gochecknoglobals // a constant
var writtenTables = sync.OnceValue(func() string {
	var tables []string
	files, _ := fs.Glob(migrations, "migrations/postgres/*.sql") // embedded
	for _, file := range files {
		text, _ := fs.ReadFile(migrations, file)
		for _, made := range regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`).FindAllSubmatch(text, -1) {
			if name := string(made[1]); name != "compatibility" && name != "holders" && name != "lanes" {
				tables = append(tables, name)
			}
		}
	}
	return strings.Join(tables, ", ")
})

// CheckWritable writes a row. It returns nil if that succeeds and no table is locked, or lacks a permission on
// PostgreSQL. It waits up to a second for a lock, or five seconds on SQLite, whatever ctx is. Rows of users are not
// written, so those may still need more space than the disk has.
func (s *Store) CheckWritable(ctx context.Context) error {
	var checks []statement
	if s.Shared() {
		checks = []statement{
			{query: `SET LOCAL lock_timeout = '1s'`},
			{query: `LOCK TABLE ` + writtenTables() + ` IN ROW EXCLUSIVE MODE`},
			{query: `SELECT name FROM unnest(string_to_array($1, ', ')) name WHERE NOT (has_table_privilege(name, 'SELECT')
				AND has_table_privilege(name, 'INSERT') AND has_table_privilege(name, 'UPDATE') AND has_table_privilege(name, 'DELETE'))`, args: []any{writtenTables()}},
		}
	}
	return s.write(ctx, func(tx transaction) error {
		var refused error
		err := tx.last(ctx, func(scan func(...any) error) error {
			var name string
			err := scan(&name)
			refused = unavailableError{errors.New("the table " + name + " lacks a permission")}
			return err
		}, append(checks, statement{query: `UPDATE installation SET checked_at = ` + tx.clock()})...)
		return cmp.Or(err, refused)
	})
}

// Connections is the state of one connection pool of this process.
type Connections struct {
	Pool        string // "all", or on SQLite "writer" and "readers"
	InUse, Idle int
	Max         int
	Waited      time.Duration // total wait for a free connection
}

// Connections returns the state of each connection pool of this process.
func (s *Store) Connections() []Connections {
	if e, ok := s.engine.(*sqlite); ok {
		return []Connections{sqliteStats("writer", e.writer.Stats()), sqliteStats("readers", e.readers.Stats())}
	}
	stat := s.postgres.pool.Stat()
	return []Connections{{
		Pool: "all", InUse: int(stat.AcquiredConns()), Idle: int(stat.IdleConns()), Max: int(stat.MaxConns()),
		Waited: stat.EmptyAcquireWaitTime(),
	}}
}

func sqliteStats(pool string, stat sql.DBStats) Connections {
	return Connections{Pool: pool, InUse: stat.InUse, Idle: stat.Idle, Max: stat.MaxOpenConnections, Waited: stat.WaitDuration}
}
