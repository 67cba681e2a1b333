package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// MostCounted is up to how many rows [Store.Status] counts of a kind, so that it costs little however
// many there are.
const MostCounted = 100_000

// Status is what waits in the database, for all processes that work on it.
type Status struct {
	Rendering    Waiting // subjects to be rendered that nobody renders
	Delivery     Waiting // subjects with an event to be delivered
	OpenBreakers int
}

// Waiting is the work of one kind that is due. With [MostCounted] of them there may be more, and older ones.
type Waiting struct {
	Count  int
	Oldest time.Duration // since when the oldest is due; 0 when there is none
}

// Status reads what waits, by the clock of the database.
func (s *Store) Status(ctx context.Context) (status Status, err error) {
	var render, deliver int64
	now := s.engine.now()
	// The plus sign makes it count by the index of what is under way, and not by that of what waits.
	err = one(ctx, s.engine, []any{&status.Delivery.Count, &deliver, &status.Rendering.Count, &render, &status.OpenBreakers}, `
		SELECT d.n, COALESCE(`+now+` - d.oldest, 0), r.n - u.n, COALESCE(`+now+` - (SELECT render_at FROM subjects
				WHERE render_at <= `+now+` AND (render_by IS NULL OR render_until < `+now+`) ORDER BY render_at LIMIT 1), 0), b.n
		FROM (SELECT COUNT(*) AS n, MIN(deliver_at) AS oldest
				FROM (SELECT deliver_at FROM subjects WHERE deliver_at IS NOT NULL AND deliver_at <= `+now+` LIMIT $1 + 0) w) d,
			(SELECT COUNT(*) AS n FROM (SELECT render_at FROM subjects WHERE render_at <= `+now+` ORDER BY render_at LIMIT $1 + 0) w) r,
			(SELECT COUNT(*) AS n FROM subjects WHERE render_by IS NOT NULL AND +render_at <= `+now+` AND render_until >= `+now+`) u,
			(SELECT COUNT(*) AS n FROM breakers WHERE until > `+now+`) b`, MostCounted)
	status.Rendering.Count = max(status.Rendering.Count, 0) // what is under way may not be among those counted
	status.Delivery.Oldest = time.Duration(deliver) * time.Microsecond
	status.Rendering.Oldest = time.Duration(render) * time.Microsecond
	return status, err
}

// ErrNotMigrated is returned by [Store.Ready].
var ErrNotMigrated = errors.New("the tables are of an earlier version")

// Ready returns nil when the database can be reached and has the tables that this version needs.
func (s *Store) Ready(ctx context.Context) error {
	migrations := postgresMigrations
	if e, ok := s.engine.(*sqlite); ok {
		if err := e.there(); err != nil {
			return err
		}
		migrations = sqliteMigrations
	}
	newest, err := newestMigration(migrations)
	if err != nil {
		return err
	}
	var applied int
	err = one(ctx, s.engine, []any{&applied}, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied`)
	if err == nil && applied < newest {
		err = ErrNotMigrated
	}
	return err
}

// Connections are those of one pool of this process.
type Connections struct {
	Pool        string // "all", or on SQLite "writer" and "readers"
	InUse, Idle int
	Max         int
	Waits       int64         // how often none was free
	Waited      time.Duration // for one, in all
}

// Connections returns the pools of this process.
func (s *Store) Connections() []Connections {
	e, ok := s.engine.(*sqlite)
	if !ok {
		return []Connections{ofPostgres(s.Pool().Stat())}
	}
	return []Connections{ofSQLite("writer", e.writer.Stats()), ofSQLite("readers", e.readers.Stats())}
}

func ofPostgres(stat *pgxpool.Stat) Connections {
	return Connections{
		Pool: "all", InUse: int(stat.AcquiredConns()), Idle: int(stat.IdleConns()), Max: int(stat.MaxConns()),
		Waits: stat.EmptyAcquireCount(), Waited: stat.EmptyAcquireWaitTime(),
	}
}

func ofSQLite(pool string, stat sql.DBStats) Connections {
	return Connections{
		Pool: pool, InUse: stat.InUse, Idle: stat.Idle, Max: stat.MaxOpenConnections, Waits: stat.WaitCount, Waited: stat.WaitDuration,
	}
}
