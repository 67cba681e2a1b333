package jobs

import (
	"context"
	"log/slog"
	"sync"
	"time"

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
	// tendInterval is how often a look is taken for what a process that was killed had in work, and for
	// how long the queue may fill before the server knows.
	tendInterval = 5 * time.Second
	// maxTurn is how long a job takes one turn after another, so that River never takes it for lost.
	maxTurn = 10 * time.Second
	// panicPause keeps a job that panics from doing so at once again.
	panicPause = time.Minute
)

// riverRenders renders when River has a job for this process, in a database that any number of them
// share. A job is a turn: it does not say of whom, see [store.RenderArgs].
//
// Another process renders what one had in work that has gone within [store.RenderLease] and
// tendInterval.
type riverRenders struct {
	jobs   *Jobs
	client *river.Client[pgx.Tx]
	claims *claims
	stop   context.Context //nolint:containedctx // of run, for the workers that River calls
}

func newRiverRenders(jobs *Jobs) (*riverRenders, error) {
	r := &riverRenders{jobs: jobs, claims: newClaims(jobs), stop: context.Background()}
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(r.render))
	var err error
	r.client, err = river.NewClient(riverpgxv5.New(jobs.Store.Pool()), &river.Config{
		ID:                jobs.id,
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
	others.Go(func() { r.tend(stop) })
	<-stop.Done()
	if r.client.Stop(ctx) != nil {
		r.jobs.report(ctx, "stop", r.client.StopAndCancel(context.WithoutCancel(ctx)))
	}
}

// start waits for the database. It reports whether there is something to stop.
func (r *riverRenders) start(ctx, stop context.Context) bool {
	for stop.Err() == nil {
		err := r.client.Start(context.WithoutCancel(ctx))
		if err == nil {
			return true
		}
		r.jobs.report(stop, "start", err)
		pause(stop, errorPause)
	}
	return false
}

// tend keeps the queue in order.
func (r *riverRenders) tend(stop context.Context) {
	for stop.Err() == nil {
		r.jobs.report(stop, "missing", r.jobs.Store.AddMissingTurns(stop, r.jobs.Now()))
		r.jobs.report(stop, "refresh", r.jobs.Store.Refresh(stop))
		pause(stop, tendInterval)
	}
}

// render takes a turn, and those after it while something is due: River hands out the next turn no sooner
// than fetchCooldown and a commit after this one has ended.
func (r *riverRenders) render(ctx context.Context, job *river.Job[store.RenderArgs]) error {
	began := time.Now()
	for over := false; !over; over = r.stop.Err() != nil || time.Since(began) > maxTurn {
		subjectID, err := r.claim(ctx, job.ScheduledAt)
		switch {
		case err != nil:
			r.jobs.report(ctx, store.Render, err)
			return river.JobSnooze(errorPause)
		case subjectID == "":
			return nil
		}
		if r.jobs.render(ctx, r.stop, subjectID) != nil {
			return river.JobSnooze(0) // anybody may go on
		}
	}
	return nil
}

// claim claims what is due at the present, or at a time that is present by the clock of another machine.
func (r *riverRenders) claim(ctx context.Context, scheduled time.Time) (subjectID string, err error) {
	// Another turn may have taken what this one was for, and left what became due since now.
	for look := 0; look < 2 && subjectID == "" && err == nil; look++ {
		now := r.jobs.Now()
		if scheduled.After(now) {
			now = scheduled
		}
		subjectID, err = r.claims.claim(ctx, now)
	}
	return subjectID, err
}

// riverErrors says what becomes of a job that panics, the only way in which it can fail.
type riverErrors struct{ logger *slog.Logger }

func (e riverErrors) HandleError(context.Context, *rivertype.JobRow, error) *river.ErrorHandlerResult {
	return nil
}

func (e riverErrors) HandlePanic(ctx context.Context, job *rivertype.JobRow, cause any, trace string) *river.ErrorHandlerResult {
	e.logger.ErrorContext(ctx, "work panicked", "work", job.Kind, "cause", cause, "trace", trace)
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
