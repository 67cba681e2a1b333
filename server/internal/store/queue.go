package store

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// DaemonLease is for how long the jobs of a daemon are its own after its last [Store.Alive].
const DaemonLease = 22 * time.Second

// sweepBatch is how many jobs one transaction rebuilds.
const sweepBatch = 5000

// Priorities of jobs: what has waited before does not keep what is new from its first look.
const (
	priorityNew    = 1
	priorityWaited = 2
	prioritySwept  = 3
)

// RenderArgs are those of a River job that says: look at whether this subject is to be rendered.
type RenderArgs struct {
	SubjectID string `json:"subject_id"`
}

// Kind is the name of the work, and of its queue.
func (RenderArgs) Kind() string { return string(Render) }

// newJob describes a rendering that comes at a time; the zero time is now. There is one for each
// subject that has not ended.
func newJob(subjectID string, priority int, at time.Time) river.InsertManyParams {
	return river.InsertManyParams{Args: RenderArgs{subjectID}, InsertOpts: &river.InsertOpts{
		MaxAttempts: math.MaxInt16, Priority: priority, Queue: string(Render), ScheduledAt: at,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
			rivertype.JobStateRunning, rivertype.JobStateScheduled,
		}},
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

// Settle ends a running job after a look at its subject: in one transaction the job is deleted, and
// one that comes at the time when the subject is to be rendered again takes its place. When that is
// now, nothing is changed and settled is false.
func (s *Store) Settle(ctx context.Context, job int64, subjectID string, now time.Time) (settled bool, err error) {
	err = s.write(ctx, func(tx transaction) error {
		var due time.Time
		// The lock keeps anybody from making work due until the job has ended.
		err := one(ctx, tx, []any{instant{&due}}, `SELECT render_at FROM subjects WHERE id = $1`+tx.forUpdate(), subjectID)
		if err != nil && !errors.Is(err, studio.ErrNotFound) {
			return err
		}
		if settled = due.IsZero() || due.After(now); !settled {
			return nil
		}
		deleted, err := tx.exec(ctx, `DELETE FROM river_job WHERE id = $1 AND state = 'running'`, job)
		if deleted > 0 && !due.IsZero() { // and it was not taken away
			tx.renderLater(subjectID, due)
		}
		return err
	})
	return settled, err
}

// Alive says that the daemon with this name in River works. It must be said more often than every
// [Lease] by as much as its longest attempt takes.
func (s *Store) Alive(ctx context.Context, daemon string) error {
	return s.write(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, `INSERT INTO daemons (id, seen_at) VALUES ($1, clock_timestamp())
			ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`, daemon)
		return err
	})
}

// Gone says that a daemon has stopped.
func (s *Store) Gone(ctx context.Context, daemon string) error {
	return s.write(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, `DELETE FROM daemons WHERE id = $1`, daemon)
		return err
	})
}

// Sweep takes the jobs of daemons that have gone away from them, and adds every job that should be
// there and is not. When no job was taken away, it looks for missing ones only if all is true. It does
// nothing while another daemon does it.
func (s *Store) Sweep(ctx context.Context, all bool) error {
	for missing := sweepBatch; missing == sweepBatch; {
		err := s.write(ctx, func(tx transaction) error {
			missing = 0
			free, err := tx.claim(ctx, "sweep")
			if err != nil || !free {
				return err
			}
			taken, err := tx.exec(ctx, `DELETE FROM river_job WHERE kind = 'render' AND state = 'running' AND NOT EXISTS
				(SELECT FROM daemons WHERE id = attempted_by[cardinality(attempted_by)]
					AND seen_at > clock_timestamp() - make_interval(secs => $1))`, DaemonLease.Seconds())
			if err != nil || taken == 0 && !all {
				return err
			}
			missing, err = addMissing(ctx, tx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addMissing adds the jobs of some subjects that are to be rendered and have no job.
func addMissing(ctx context.Context, tx transaction) (added int, err error) {
	pt := tx.(*postgresTransaction)
	err = tx.query(ctx, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		pt.jobs = append(pt.jobs, newJob(id, prioritySwept, time.Time{}))
		added++
		return err
	}, `SELECT id FROM subjects WHERE render_at IS NOT NULL EXCEPT
		SELECT args->>'subject_id' FROM river_job WHERE kind = 'render'
			AND state IN ('available', 'pending', 'retryable', 'running', 'scheduled') LIMIT $1`, sweepBatch)
	return added, err
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
