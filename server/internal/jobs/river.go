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
	fetchPoll     = 200 * time.Millisecond
	aliveInterval = 5 * time.Second
	settleTimeout = 2 * time.Second
	// refreshInterval is for how long the queue may fill before the server knows.
	refreshInterval = time.Second
	// maxRounds is how often a job looks at its subject because something has become due meanwhile. One
	// that nothing becomes of must not come back at once, or it has a worker for ever.
	maxRounds = 10
	// panicPause keeps a job that panics from doing so at once again.
	panicPause = time.Minute
)

// riverRenders starts renderings when River has a job for them, in a database that any number of
// daemons share. Jobs say no more than which subject to look at. There is one for each, so that no
// two daemons work on it at once.
//
// A daemon that has gone loses its jobs to the others within [store.DaemonLease] and a few seconds. A
// job that is missing, for whatever reason, is added within half a minute.
type riverRenders struct {
	jobs   *Jobs
	client *river.Client[pgx.Tx]
	id     string
	stop   context.Context //nolint:containedctx // of run, for the workers that River calls

	alive time.Duration
}

func newRiverRenders(jobs *Jobs) (*riverRenders, error) {
	r := &riverRenders{jobs: jobs, id: uuid.NewString(), stop: context.Background(), alive: aliveInterval}
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(r.render))
	var err error
	r.client, err = river.NewClient(riverpgxv5.New(jobs.Store.Pool()), &river.Config{
		ID:                r.id,
		Queues:            map[string]river.QueueConfig{string(store.Render): {MaxWorkers: jobs.RenderWorkers}},
		Workers:           workers,
		FetchCooldown:     fetchCooldown,
		FetchPollInterval: fetchPoll,
		JobTimeout:        -1, // a rendering has its own
		ErrorHandler:      riverErrors{jobs.Logger},
		RetryPolicy:       riverErrors{},
		Logger:            slog.New(warnings{jobs.Logger.Handler()}),
	})
	return r, err
}

func (r *riverRenders) look() {}

func (r *riverRenders) run(ctx, stop context.Context) {
	r.stop = stop
	var others sync.WaitGroup
	defer others.Wait()
	if !r.start(ctx, stop) {
		return
	}
	alive, gone := context.WithCancel(context.WithoutCancel(ctx))
	others.Go(func() { r.stayAlive(alive) })
	others.Go(func() { r.sweep(stop) })
	others.Go(func() { r.refresh(stop) })
	<-stop.Done()
	if r.client.Stop(ctx) != nil {
		r.jobs.report(ctx, "stop", r.client.StopAndCancel(context.WithoutCancel(ctx)))
	}
	gone()
}

// start waits for the database. It reports whether there is something to stop.
func (r *riverRenders) start(ctx, stop context.Context) bool {
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
func (r *riverRenders) stayAlive(alive context.Context) {
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

func (r *riverRenders) sweep(stop context.Context) {
	var swept time.Time
	for stop.Err() == nil {
		all := time.Since(swept) >= r.jobs.safetyNet
		if all {
			swept = time.Now()
		}
		if err := r.jobs.Store.Sweep(stop, all); err != nil {
			r.jobs.report(stop, "sweep", err)
			swept = time.Time{}
		}
		pause(stop, r.alive)
	}
}

func (r *riverRenders) refresh(stop context.Context) {
	for stop.Err() == nil {
		r.jobs.report(stop, "refresh", r.jobs.Store.Refresh(stop))
		pause(stop, refreshInterval)
	}
}

// render renders until there is nothing to do now, and says when the job comes again.
func (r *riverRenders) render(ctx context.Context, job *river.Job[store.RenderArgs]) error {
	for range maxRounds {
		err := r.jobs.Render(ctx, job.Args.SubjectID)
		if err == nil || r.stop.Err() != nil { // then any daemon may go on
			var settled bool
			if settled, err = r.settle(ctx, job); settled {
				return nil
			}
		}
		switch {
		case r.stop.Err() != nil:
			return river.JobSnooze(0)
		case err != nil:
			r.jobs.report(ctx, store.Render, err)
			return river.JobSnooze(errorPause)
		}
	}
	r.jobs.Logger.ErrorContext(ctx, "a rendering does not come to an end", "subject", job.Args.SubjectID)
	return river.JobSnooze(errorPause)
}

// settle settles what has happened although the work is cut off.
func (r *riverRenders) settle(ctx context.Context, job *river.Job[store.RenderArgs]) (settled bool, err error) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	return r.jobs.Store.Settle(limited, job.ID, job.Args.SubjectID, r.jobs.Now())
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
