package store

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// maxMissingJobs bounds the jobs that are counted and added at once.
const maxMissingJobs = 1000

// RenderArgs are the arguments of a River job that tells one process to claim a rendering by
// [Store.ClaimRenderings]. A job names no subject: River runs jobs in the order of their creation, while
// renderings are shared fairly among users.
type RenderArgs struct{}

// Kind returns the kind of the job, which is also the name of its queue.
func (RenderArgs) Kind() string { return string(Render) }

// newRenderJob returns a job that is due at a time. A due time in the past is omitted, because River would
// schedule such a job only with its next poll, every five seconds.
func newRenderJob(at time.Time) river.InsertManyParams {
	if !at.After(time.Now()) {
		at = time.Time{}
	}
	return river.InsertManyParams{Args: RenderArgs{}, InsertOpts: &river.InsertOpts{
		MaxAttempts: math.MaxInt16, Queue: string(Render), ScheduledAt: at,
	}}
}

// newInserter returns a River client that only inserts jobs. FetchCooldown limits its notifications: River
// sends none within the cooldown, and the job then waits for the next notification or poll.
func newInserter(pool *pgxpool.Pool) (*river.Client[pgx.Tx], error) {
	return river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown: time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
}

// Pool returns the connection pool on PostgreSQL, and nil on SQLite.
func (s *Store) Pool() *pgxpool.Pool {
	if e, ok := s.engine.(*postgres); ok {
		return e.pool
	}
	return nil
}

// AddMissingRenderJobs adds jobs until there is one for each due subject that no process renders. Jobs are
// missing after a process was killed. It adds up to 1,000, and does nothing while another process runs it. A
// surplus job finds nothing to claim, which is harmless. The store must be on PostgreSQL.
func (s *Store) AddMissingRenderJobs(ctx context.Context, now time.Time) error {
	return s.write(ctx, func(tx transaction) error {
		free, err := tx.tryLock(ctx, "turns")
		if err != nil || !free {
			return err
		}
		var missing int
		err = queryRow(ctx, tx, []any{&missing}, `SELECT
			(SELECT COUNT(*) FROM (SELECT FROM subjects WHERE render_at <= $1 AND `+claimable(tx)+` LIMIT $2) s) -
			(SELECT COUNT(*) FROM (SELECT FROM river_job WHERE kind = 'render' AND state IN ('available', 'retryable', 'scheduled')
				AND scheduled_at <= clock_timestamp() LIMIT $2) q)`, micros(now), maxMissingJobs)
		for range missing {
			tx.markRenderDue(now)
		}
		return err
	})
}

// AnalyzeQueue refreshes the planner statistics of River's queue if it has grown since the last ANALYZE.
// With the statistics of an empty queue, queries on thousands of jobs would take seconds. The store must be on
// PostgreSQL.
func (s *Store) AnalyzeQueue(ctx context.Context) error {
	const many = 100
	var planned, rows float64
	err := queryRow(ctx, s.engine, []any{&planned, &rows}, `SELECT reltuples,
		(SELECT COUNT(*)::float8 FROM (SELECT FROM river_job LIMIT $1) q) FROM pg_class WHERE oid = 'river_job'::regclass`, 10*many)
	if err != nil || rows < many || planned >= rows/10 {
		return err
	}
	return s.write(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, `ANALYZE river_job`)
		return err
	})
}
