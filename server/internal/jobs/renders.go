package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// keepInterval is how often a process says that it still renders a subject.
	keepInterval = time.Second
	// lookInterval is how often it looks whether that is in vain. What was deleted on any machine is to
	// have stopped within a second.
	lookInterval = 400 * time.Millisecond
	// settleTimeout bounds what is written although the work is cut off.
	settleTimeout = 2 * time.Second
)

// errTaken cancels a rendering that another process does meanwhile, or has done.
var errTaken = errors.New("another process renders the subject")

// render renders a subject that this process has claimed. When ctx ends first, any process may take it.
func (j *Jobs) render(ctx, stop context.Context, subjectID string) (err error) {
	if err = j.renderOnce(ctx, subjectID); err == nil {
		return nil
	}
	if ctx.Err() == nil {
		j.report(ctx, store.Render, err)
		pause(stop, errorPause)
	}
	for !j.release(ctx, subjectID) && ctx.Err() == nil {
		pause(ctx, errorPause)
	}
	return err
}

// release gives a rendering to whoever takes it next, although the work is cut off.
func (j *Jobs) release(ctx context.Context, subjectID string) (done bool) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	err := j.Store.ReleaseRendering(limited, subjectID, j.id)
	j.report(ctx, store.Render, err)
	return err == nil
}

// renderOnce renders a subject once and writes what follows. After an error it is still to be rendered.
func (j *Jobs) renderOnce(ctx context.Context, subjectID string) error {
	subject, err := j.Store.Subject(ctx, subjectID)
	if errors.Is(err, studio.ErrNotFound) {
		return nil // it has been deleted
	}
	if err != nil {
		return err
	}
	began := j.Now()
	limited, cancel := context.WithCancelCause(ctx)
	timed, cancelTime := context.WithTimeout(limited, j.RenderTimeout)
	go j.keep(timed, cancel, subjectID)
	result, failure := j.Renderer.Render(timed, subject)
	cancelTime()
	taken := errors.Is(context.Cause(limited), errTaken)
	cancel(nil)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	kind, outcome, took := subject.Kind, RenderingDiscarded, j.Now().Sub(began)
	defer func() { j.OnRendering(kind, outcome, took) }()
	if taken {
		j.Logger.WarnContext(ctx, "rendered in vain", "id", subjectID, "err", errTaken)
		return nil
	}
	for {
		subject, err = j.Studio.Rendered(ctx, subjectID, result, failure)
		if !errors.Is(err, studio.ErrBusy) || ctx.Err() != nil {
			break
		}
		// What took minutes is not thrown away because the database is away.
		j.report(ctx, store.Render, err)
		pause(ctx, errorPause)
	}
	if errors.Is(err, studio.ErrNotFound) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	outcome = outcomeOfRendering(failure, subject)
	j.Logger.InfoContext(ctx, "rendered", "kind", subject.Kind, "id", subject.ID, "status", subject.Status, "duration", took,
		"request_id", subject.RequestID)
	return nil
}

// keep keeps a rendering this process's, and cancels it when it is in vain. While the database is away,
// the rendering goes on.
func (j *Jobs) keep(ctx context.Context, cancel context.CancelCauseFunc, subjectID string) {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for kept := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var err error
		if time.Since(kept) < keepInterval {
			err = j.Store.HoldsRendering(ctx, subjectID, j.id)
		} else if err = j.Store.KeepRendering(ctx, subjectID, j.id); err == nil {
			kept = time.Now()
		}
		if !errors.Is(err, studio.ErrNotFound) {
			continue
		}
		switch _, err = j.Store.Subject(ctx, subjectID); {
		case errors.Is(err, studio.ErrNotFound):
			cancel(err)
			return
		case err == nil:
			cancel(errTaken)
			return
		}
	}
}

// noRenders leaves the renderings to other processes.
type noRenders struct{}

func (noRenders) run(_, stop context.Context) { <-stop.Done() }
func (noRenders) look()                       {}

// localRenders starts renderings on a database that this process has to itself.
type localRenders struct {
	jobs *Jobs
	wake chan struct{}
	free chan struct{} // has room for the workers
}

func newLocalRenders(jobs *Jobs) *localRenders {
	return &localRenders{jobs: jobs, wake: make(chan struct{}, 1), free: make(chan struct{}, jobs.RenderWorkers)}
}

func (l *localRenders) look() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *localRenders) run(ctx, stop context.Context) {
	var workers sync.WaitGroup
	defer workers.Wait()
	for stop.Err() == nil {
		timer := time.NewTimer(l.start(ctx, stop, &workers))
		select {
		case <-stop.Done():
		case <-l.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// start gives what is due to free workers and returns when to look again. A worker that ends looks too.
func (l *localRenders) start(ctx, stop context.Context, workers *sync.WaitGroup) time.Duration {
	for stop.Err() == nil {
		free := l.acquire()
		if free == 0 {
			return l.jobs.safetyNet
		}
		now := l.jobs.Now()
		subjectIDs, err := l.jobs.Store.ClaimRenderings(stop, l.jobs.id, now, free)
		for range free - len(subjectIDs) {
			<-l.free
		}
		for _, subjectID := range subjectIDs {
			workers.Go(func() {
				_ = l.jobs.render(ctx, stop, subjectID) // which reports it
				<-l.free
				l.look()
			})
		}
		if err == nil && len(subjectIDs) == free {
			continue
		}
		var next time.Time
		if err == nil {
			next, err = l.jobs.Store.NextRendering(stop, now)
		}
		switch {
		case err != nil:
			l.jobs.report(stop, store.Render, err)
			return errorPause
		case !next.IsZero():
			return min(next.Sub(now), l.jobs.safetyNet)
		default:
			return l.jobs.safetyNet
		}
	}
	return 0
}

// acquire takes all workers that are free.
func (l *localRenders) acquire() (free int) {
	for {
		select {
		case l.free <- struct{}{}:
			free++
		default:
			return free
		}
	}
}
