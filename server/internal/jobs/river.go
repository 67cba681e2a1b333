package jobs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

const (
	fetchCooldown = 10 * time.Millisecond
	// fetchPoll bounds how late a job comes whose notification was lost or left out.
	fetchPoll = 200 * time.Millisecond
	// snoozeLimit is the longest wait for which a job stays the same. River makes jobs available
	// five seconds ahead, so a longer wait of a new one ends on time.
	snoozeLimit   = 5 * time.Second
	aliveInterval = 5 * time.Second
	settleTimeout = 2 * time.Second
	// refreshInterval is for how long the queue may fill before the server knows.
	refreshInterval = time.Second
	// settlers is how many workers at once may put off deliveries for long: a hundred thousand that
	// wait for a failing origin leave the database to others.
	settlers = 2
	// maxRounds is how often a job looks at its subject because something has become due meanwhile. One
	// that nothing becomes of must not come back at once, or it has a worker for ever.
	maxRounds = 10
	// panicPause keeps a job that panics from doing so at once again.
	panicPause = time.Minute
)

// River starts work when River has a job for it, in a database that any number of daemons share.
// Jobs say no more than which subject to look at. There is one for each subject and kind of work, so
// that no two daemons work on it at once; the limits of origins are those of each daemon.
//
// A daemon that has gone loses its jobs to the others within [store.Lease] and a few seconds. A job
// that is missing, for whatever reason, is added within half a minute.
type River struct {
	jobs   *Jobs
	client *river.Client[pgx.Tx]
	id     string
	settle chan struct{}   // has room for the settlers
	stop   context.Context //nolint:containedctx // of Run, for the workers that River calls

	alive, safetyNet time.Duration
}

// NewRiver makes a River with 16 workers for renderings and the configured ones for deliveries. The
// store must be on PostgreSQL.
func NewRiver(jobs *Jobs) (*River, error) { return newRiver(jobs, func(*river.Config) {}) }

func newRiver(jobs *Jobs, adjust func(*river.Config)) (*River, error) {
	r := &River{
		jobs: jobs, id: uuid.NewString(), settle: make(chan struct{}, settlers), stop: context.Background(), alive: aliveInterval, safetyNet: defaultSafetyNet,
	}
	jobs.patience = fetchPoll // a snoozed job comes no sooner
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(r.render))
	river.AddWorker(workers, river.WorkFunc(r.deliver))
	cfg := &river.Config{
		ID: r.id,
		Queues: map[string]river.QueueConfig{
			string(store.Render):  {MaxWorkers: renderWorkers},
			string(store.Deliver): {MaxWorkers: jobs.Workers},
		},
		Workers:           workers,
		FetchCooldown:     fetchCooldown,
		FetchPollInterval: fetchPoll,
		JobTimeout:        -1, // an attempt and a rendering have their own
		ErrorHandler:      riverErrors{jobs.Logger},
		RetryPolicy:       riverErrors{},
		Logger:            slog.New(warnings{jobs.Logger.Handler()}),
	}
	adjust(cfg)
	var err error
	r.client, err = river.NewClient(riverpgxv5.New(jobs.Store.Pool()), cfg)
	return r, err
}

// Run works until stop ends, and then waits for what is running. Work is done under ctx: ending
// that too cuts off what is still running, which is then due again. Run must be called once.
func (r *River) Run(ctx, stop context.Context) {
	r.stop = stop
	var others sync.WaitGroup
	defer others.Wait()
	if !r.start(ctx, stop) {
		return
	}
	others.Go(func() { r.jobs.prune(stop) })
	alive, gone := context.WithCancel(context.WithoutCancel(ctx))
	others.Go(func() { r.stayAlive(alive) })
	others.Go(func() {
		r.jobs.repairAll(stop)
		r.sweep(stop)
	})
	others.Go(func() { r.refresh(stop) })
	<-stop.Done()
	if r.client.Stop(ctx) != nil {
		r.jobs.report(ctx, "stop", r.client.StopAndCancel(context.WithoutCancel(ctx)))
	}
	gone()
}

// start waits for the database. It reports whether there is something to stop.
func (r *River) start(ctx, stop context.Context) bool {
	for stop.Err() == nil {
		err := r.jobs.Store.Alive(stop, r.id) // or its first jobs are taken away
		if err == nil {
			err = r.client.Start(context.WithoutCancel(ctx))
		}
		if err == nil {
			return true
		}
		r.jobs.report(stop, "start", err)
		pause(stop, errorPause)
	}
	return false
}

// stayAlive keeps the jobs of this daemon its own.
func (r *River) stayAlive(alive context.Context) {
	for alive.Err() == nil {
		limited, cancel := context.WithTimeout(alive, r.alive)
		r.jobs.report(alive, "alive", r.jobs.Store.Alive(limited, r.id))
		cancel()
		pause(alive, r.alive)
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(alive), settleTimeout)
	defer cancel()
	r.jobs.report(limited, "gone", r.jobs.Store.Gone(limited, r.id))
}

func (r *River) sweep(stop context.Context) {
	var swept time.Time
	for stop.Err() == nil {
		all := time.Since(swept) >= r.safetyNet
		if all {
			swept = time.Now()
		}
		if err := r.jobs.Store.Sweep(stop, all); err != nil {
			r.jobs.report(stop, "sweep", err)
			swept = time.Time{}
		}
		r.jobs.Store.Woken() // for a Local; nobody else takes them, and there may be many
		pause(stop, r.alive)
	}
}

func (r *River) refresh(stop context.Context) {
	for stop.Err() == nil {
		r.jobs.report(stop, "refresh", r.jobs.Store.Refresh(stop))
		pause(stop, refreshInterval)
	}
}

func (r *River) render(ctx context.Context, job *river.Job[store.RenderArgs]) error {
	return r.look(ctx, job.ID, store.Render, job.Args.SubjectID, func() (time.Time, bool, error) {
		return time.Time{}, false, r.jobs.Render(ctx, job.Args.SubjectID)
	})
}

func (r *River) deliver(ctx context.Context, job *river.Job[store.DeliverArgs]) error {
	return r.look(ctx, job.ID, store.Deliver, job.Args.SubjectID, func() (time.Time, bool, error) {
		return r.jobs.deliver(ctx, r.stop, job.Args.SubjectID, "", job.ID)
	})
}

// look does the work of a job until there is none now, and says when the job comes again.
func (r *River) look(
	ctx context.Context, job int64, work store.Work, subjectID string,
	do func() (again time.Time, settled bool, err error),
) error {
	for round := 1; ; round++ {
		if round > maxRounds {
			r.jobs.Logger.ErrorContext(ctx, "work does not come to an end", "work", string(work), "subject", subjectID)
			return river.JobSnooze(errorPause)
		}
		again, settled, err := do()
		if settled {
			return nil
		}
		if r.stop.Err() != nil {
			again = time.Time{} // any daemon may go on
		} else if err != nil {
			r.jobs.report(ctx, work, err)
			return river.JobSnooze(errorPause)
		}
		now := r.jobs.Now()
		wait := again.Sub(now)
		if wait > 0 && wait <= snoozeLimit {
			return river.JobSnooze(wait)
		}
		if putOff := wait > 0 && work == store.Deliver; putOff {
			settled, err = r.putOff(ctx, job, subjectID, again, now)
		} else {
			settled, err = r.settleJob(ctx, job, work, subjectID, again, now)
		}
		switch {
		case err != nil:
			r.jobs.report(ctx, work, err)
			return river.JobSnooze(errorPause)
		case settled:
			return nil
		case r.stop.Err() != nil:
			return river.JobSnooze(0)
		}
	}
}

// putOff is settleJob for a delivery that waits for its origin.
func (r *River) putOff(ctx context.Context, job int64, subjectID string, again, now time.Time) (settled bool, err error) {
	r.settle <- struct{}{}
	defer func() { <-r.settle }()
	return r.settleJob(ctx, job, store.Deliver, subjectID, again, now)
}

// settleJob settles what has happened although the work is cut off.
func (r *River) settleJob(
	ctx context.Context, job int64, work store.Work, subjectID string, again, now time.Time,
) (settled bool, err error) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	return r.jobs.Store.Settle(limited, job, work, subjectID, again, now)
}

// riverErrors says what becomes of a job that panics, the only way in which it can fail.
type riverErrors struct{ logger *slog.Logger }

func (e riverErrors) HandleError(context.Context, *rivertype.JobRow, error) *river.ErrorHandlerResult {
	return nil
}

func (e riverErrors) HandlePanic(ctx context.Context, job *rivertype.JobRow, cause any, trace string) *river.ErrorHandlerResult {
	e.logger.ErrorContext(ctx, "work panicked", "work", job.Kind, "args", string(job.EncodedArgs), "cause", cause, "trace", trace)
	return nil
}

func (e riverErrors) NextRetry(*rivertype.JobRow) time.Time { return time.Now().Add(panicPause) }

// warnings is a [slog.Handler] that leaves out what is no warning.
type warnings struct{ slog.Handler }

func (h warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

func (h warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{h.Handler.WithAttrs(attrs)}
}

func (h warnings) WithGroup(name string) slog.Handler { return warnings{h.Handler.WithGroup(name)} }
