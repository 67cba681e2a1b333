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
	// fetchCooldown is the shortest time between two fetches of jobs.
	fetchCooldown = 10 * time.Millisecond
	// fetchPoll bounds the delay of a job whose notification was lost or not sent.
	fetchPoll = 200 * time.Millisecond
	// maintainInterval is how often jobs of killed processes are replaced and the statistics of the queue are
	// refreshed for the query planner.
	maintainInterval = 5 * time.Second
	// maxJobTime bounds how long one job claims further renderings. River must never consider the job lost.
	maxJobTime = 10 * time.Second
	// panicPause is the pause before a job that panicked runs again.
	panicPause = time.Minute
)

// riverRenderPool is the renderPool on PostgreSQL, which any number of processes share. It claims a
// rendering for each River job that it gets. A job names no subject; see [store.RenderArgs].
//
// If a process dies, another one takes its renderings over within [store.RenderLease] and maintainInterval
// together.
type riverRenderPool struct {
	jobs   *Jobs
	client *river.Client[pgx.Tx]
	stop   context.Context //nolint:containedctx // the context of run, for the workers that River calls
}

func newRiverRenderPool(jobs *Jobs) (*riverRenderPool, error) {
	r := &riverRenderPool{jobs: jobs, stop: context.Background()}
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(r.render))
	var err error
	r.client, err = river.NewClient(riverpgxv5.New(jobs.Store.Pool()), &river.Config{
		ID:                jobs.processID,
		Queues:            map[string]river.QueueConfig{string(store.Render): {MaxWorkers: jobs.RenderWorkers}},
		Workers:           workers,
		FetchCooldown:     fetchCooldown,
		FetchPollInterval: fetchPoll,
		JobTimeout:        -1, // a rendering has its own timeout
		ErrorHandler:      riverErrors{jobs.Logger},
		RetryPolicy:       riverErrors{},
		Logger:            slog.New(warnings{jobs.Logger.Handler()}),
	})
	return r, err
}

func (r *riverRenderPool) wake() {}

func (r *riverRenderPool) run(ctx, stop context.Context) {
	r.stop = stop
	var others sync.WaitGroup
	defer others.Wait()
	if !r.start(ctx, stop) {
		return
	}
	others.Go(func() { r.maintain(stop) })
	<-stop.Done()
	if r.client.Stop(ctx) != nil {
		r.jobs.report(ctx, "stop", r.client.StopAndCancel(context.WithoutCancel(ctx)))
	}
}

// start starts the River client and retries until the database answers. It reports whether the client runs.
func (r *riverRenderPool) start(ctx, stop context.Context) bool {
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

// maintain adds missing jobs and refreshes the statistics of the queue until stop ends.
func (r *riverRenderPool) maintain(stop context.Context) {
	for stop.Err() == nil {
		r.jobs.report(stop, "missing", r.jobs.Store.AddMissingRenderJobs(stop, r.jobs.Now()))
		r.jobs.report(stop, "refresh", r.jobs.Store.AnalyzeQueue(stop))
		pause(stop, maintainInterval)
	}
}

// render works on one River job. It claims one rendering after another while some are due, for up to
// maxJobTime, because River would start the next job only after fetchCooldown and a commit.
func (r *riverRenderPool) render(ctx context.Context, job *river.Job[store.RenderArgs]) error {
	began := time.Now()
	for over := false; !over; over = r.stop.Err() != nil || time.Since(began) > maxJobTime {
		subjectID, err := r.claim(job.ScheduledAt)
		switch {
		case err != nil:
			r.jobs.report(ctx, store.Render, err)
			return river.JobSnooze(errorPause)
		case subjectID == "":
			return nil
		}
		if r.jobs.render(ctx, r.stop, subjectID) != nil {
			return river.JobSnooze(0) // any process may continue
		}
	}
	return nil
}

// claim claims a rendering that is due now or at the scheduled time of the job. The scheduled time may be in
// the future by the clock of this machine.
func (r *riverRenderPool) claim(scheduled time.Time) (subjectID string, err error) {
	// Another job may have claimed the rendering of this job. A second try finds one that became due since.
	for try := 0; try < 2 && subjectID == "" && err == nil; try++ {
		now := r.jobs.Now()
		if scheduled.After(now) {
			now = scheduled
		}
		subjectID, err = r.jobs.Store.ClaimRendering(r.jobs.processID, now)
	}
	return subjectID, err
}

// riverErrors logs and retries jobs that panic. A job fails in no other way.
type riverErrors struct{ logger *slog.Logger }

func (e riverErrors) HandleError(context.Context, *rivertype.JobRow, error) *river.ErrorHandlerResult {
	return nil
}

func (e riverErrors) HandlePanic(ctx context.Context, job *rivertype.JobRow, cause any, trace string) *river.ErrorHandlerResult {
	e.logger.ErrorContext(ctx, "work panicked", "work", job.Kind, "cause", cause, "trace", trace)
	return nil
}

func (e riverErrors) NextRetry(*rivertype.JobRow) time.Time { return time.Now().Add(panicPause) }

// warnings is a [slog.Handler] that drops records below [slog.LevelWarn].
type warnings struct{ slog.Handler }

func (h warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

func (h warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{h.Handler.WithAttrs(attrs)}
}

func (h warnings) WithGroup(name string) slog.Handler { return warnings{h.Handler.WithGroup(name)} }
