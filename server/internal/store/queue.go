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

// mostMissing is how many turns are looked for and added at once. While there are as many, there is
// something to do.
const mostMissing = 1000

// RenderArgs are those of a River job that says: somebody render what is next. Whoever gets it takes a
// turn by [Store.ClaimRendering]. Jobs do not say which subject it is, because River hands them out in the
// order in which they came, and users take turns.
type RenderArgs struct{}

// Kind is the name of the work, and of its queue.
func (RenderArgs) Kind() string { return string(Render) }

// newTurn describes a turn that comes at a time. With a time that is not to come, River would keep the
// job until it next looks for those to be scheduled, every five seconds.
func newTurn(at time.Time) river.InsertManyParams {
	if !at.After(time.Now()) {
		at = time.Time{}
	}
	return river.InsertManyParams{Args: RenderArgs{}, InsertOpts: &river.InsertOpts{
		MaxAttempts: math.MaxInt16, Queue: string(Render), ScheduledAt: at,
	}}
}

// newInserter makes a client of River's that only adds jobs. Its cool-down is for notifications: one
// that falls into it is not sent, and its job waits for the next or for a poll.
func newInserter(pool *pgxpool.Pool) (*river.Client[pgx.Tx], error) {
	return river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown: time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
}

// Pool is what River works on; nil on SQLite, which has no queue but the rows.
func (s *Store) Pool() *pgxpool.Pool {
	if e, ok := s.engine.(*postgres); ok {
		return e.pool
	}
	return nil
}

// AddMissingTurns adds a turn for each subject that is to be rendered now and that nobody renders, less
// those that wait: a process that was killed has taken some with it. It does nothing while another
// process does it. A turn too many finds nothing to do.
func (s *Store) AddMissingTurns(ctx context.Context, now time.Time) error {
	return s.write(ctx, func(tx transaction) error {
		free, err := tx.claim(ctx, "turns")
		if err != nil || !free {
			return err
		}
		var missing int
		err = one(ctx, tx, []any{&missing}, `SELECT
			(SELECT COUNT(*) FROM (SELECT FROM subjects WHERE render_at <= $1 AND `+claimable(tx)+` LIMIT $2) s) -
			(SELECT COUNT(*) FROM (SELECT FROM river_job WHERE kind = 'render' AND state IN ('available', 'retryable', 'scheduled')
				AND scheduled_at <= clock_timestamp() LIMIT $2) q)`, micros(now), mostMissing)
		for range missing {
			tx.renderDue(now)
		}
		return err
	})
}

// Refresh lets the server look at the queue again when it has filled since the last look. Most of the
// time the queue is empty, and then the server plans for one row, which takes seconds with thousands.
func (s *Store) Refresh(ctx context.Context) error {
	const many = 100
	var planned, rows float64
	err := one(ctx, s.engine, []any{&planned, &rows}, `SELECT reltuples,
		(SELECT COUNT(*)::float8 FROM (SELECT FROM river_job LIMIT $1) q) FROM pg_class WHERE oid = 'river_job'::regclass`, 10*many)
	if err != nil || rows < many || planned >= rows/10 {
		return err
	}
	return s.write(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, `ANALYZE river_job`)
		return err
	})
}
