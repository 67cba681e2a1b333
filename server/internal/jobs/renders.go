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
	// renewRenderInterval is how often a process renews its lease on a rendering.
	renewRenderInterval = time.Second
	// checkRenderInterval is how often a process checks that the subject still exists and is not taken over.
	// The rendering of a subject that is deleted on any machine stops within one second.
	checkRenderInterval = 400 * time.Millisecond
	// releaseTimeout bounds the release of a rendering after its context has ended.
	releaseTimeout = 2 * time.Second
)

// errTakenOver cancels a rendering that another process has taken over.
var errTakenOver = errors.New("another process renders the subject")

// render renders a subject that this process has claimed. After an error, or if ctx ends first, it releases
// the subject so that any process may claim it.
func (j *Jobs) render(ctx, stop context.Context, subjectID string) (err error) {
	if err = j.renderOnce(ctx, subjectID); err == nil {
		return nil
	}
	if ctx.Err() == nil {
		j.report(ctx, store.Render, err)
		pause(stop, errorPause)
	}
	for !j.releaseRendering(ctx, subjectID) && ctx.Err() == nil {
		pause(ctx, errorPause)
	}
	return err
}

// releaseRendering releases the claim on a subject, even if ctx has ended. It reports whether it succeeded.
func (j *Jobs) releaseRendering(ctx context.Context, subjectID string) (done bool) {
	timeoutContext, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	err := j.Store.ReleaseRendering(timeoutContext, subjectID, j.processID)
	j.report(ctx, store.Render, err)
	return err == nil
}

// renderOnce renders a subject once and writes the result. After an error the subject is still due.
func (j *Jobs) renderOnce(ctx context.Context, subjectID string) error {
	subject, err := j.Store.Subject(ctx, subjectID)
	if errors.Is(err, studio.ErrNotFound) {
		return nil // the subject was deleted
	}
	if err != nil {
		return err
	}
	kind, outcome, began := subject.Kind, RenderingDiscarded, j.Now()
	spanContext, span := j.traceRendering(ctx, subject)
	defer func() { endRendering(span, outcome) }()
	renderContext, cancel := context.WithCancelCause(ctx)
	timeoutContext, cancelTimeout := context.WithTimeout(renderContext, j.RenderTimeout)
	go j.renewRendering(timeoutContext, cancel, subjectID)
	result, failure := j.Renderer.Render(timeoutContext, subject)
	cancelTimeout()
	takenOver := errors.Is(context.Cause(renderContext), errTakenOver)
	cancel(nil)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	took := j.Now().Sub(began)
	defer func() { j.OnRendering(kind, outcome, took) }()
	if takenOver {
		j.Logger.WarnContext(ctx, "rendered in vain", "id", subjectID, "err", errTakenOver)
		return nil
	}
	for {
		subject, err = j.Studio.Rendered(spanContext, subjectID, result, failure)
		if !errors.Is(err, studio.ErrBusy) || ctx.Err() != nil {
			break
		}
		// The result may have taken minutes, so writing it is retried until the database is back.
		j.report(ctx, store.Render, err)
		pause(ctx, errorPause)
	}
	if errors.Is(err, studio.ErrNotFound) {
		return nil // the subject was deleted during the rendering
	}
	if err != nil {
		return err
	}
	outcome = outcomeOfRendering(failure, subject)
	j.Logger.InfoContext(ctx, "rendered", "kind", subject.Kind, "id", subject.ID, "status", subject.Status, "duration", took,
		"request_id", subject.RequestID)
	return nil
}

// renewRendering renews the lease on a rendering until ctx ends. It cancels the rendering if the subject
// was deleted or another process has taken it over. Errors of the database do not end the rendering.
func (j *Jobs) renewRendering(ctx context.Context, cancel context.CancelCauseFunc, subjectID string) {
	ticker := time.NewTicker(checkRenderInterval)
	defer ticker.Stop()
	for renewed := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var err error
		if time.Since(renewed) < renewRenderInterval {
			err = j.Store.HoldsRendering(ctx, subjectID, j.processID)
		} else if err = j.Store.RenewRendering(ctx, subjectID, j.processID); err == nil {
			renewed = time.Now()
		}
		if !errors.Is(err, studio.ErrNotFound) {
			continue
		}
		switch _, err = j.Store.Subject(ctx, subjectID); {
		case errors.Is(err, studio.ErrNotFound):
			cancel(err)
			return
		case err == nil:
			cancel(errTakenOver)
			return
		}
	}
}

// noRenderPool is a renderPool that renders nothing.
type noRenderPool struct{}

func (noRenderPool) run(_, stop context.Context) { <-stop.Done() }
func (noRenderPool) wake()                       {}

// localRenderPool is the renderPool on SQLite, where this process owns the database.
type localRenderPool struct {
	jobs   *Jobs
	wakeup chan struct{}
	slots  chan struct{} // holds one value for each busy worker
}

func newLocalRenderPool(jobs *Jobs) *localRenderPool {
	return &localRenderPool{jobs: jobs, wakeup: make(chan struct{}, 1), slots: make(chan struct{}, jobs.RenderWorkers)}
}

func (l *localRenderPool) wake() {
	select {
	case l.wakeup <- struct{}{}:
	default:
	}
}

func (l *localRenderPool) run(ctx, stop context.Context) {
	var workers sync.WaitGroup
	defer workers.Wait()
	for stop.Err() == nil {
		timer := time.NewTimer(l.start(ctx, stop, &workers))
		select {
		case <-stop.Done():
		case <-l.wakeup:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// start assigns due renderings to free workers. It returns how long to wait before the next call. A worker
// that ends wakes run earlier.
func (l *localRenderPool) start(ctx, stop context.Context, workers *sync.WaitGroup) time.Duration {
	for stop.Err() == nil {
		free := l.acquire()
		if free == 0 {
			return l.jobs.rescanInterval
		}
		now := l.jobs.Now()
		subjectIDs, err := l.jobs.Store.ClaimRenderings(stop, l.jobs.processID, now, free)
		for range free - len(subjectIDs) {
			<-l.slots
		}
		for _, subjectID := range subjectIDs {
			workers.Go(func() {
				_ = l.jobs.render(ctx, stop, subjectID) // render reports its error
				<-l.slots
				l.wake()
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
			return min(next.Sub(now), l.jobs.rescanInterval)
		default:
			return l.jobs.rescanInterval
		}
	}
	return 0
}

// acquire reserves all free workers and returns their number.
func (l *localRenderPool) acquire() (free int) {
	for {
		select {
		case l.slots <- struct{}{}:
			free++
		default:
			return free
		}
	}
}
