package jobs

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// renderPollInterval is how often a process looks for renderings that no notification announced, such as
	// those of a process that died.
	renderPollInterval = 5 * time.Second
	// clockMargin is added to the time of the next rendering, because the offset of the clock of the database is known to
	// a few milliseconds only.
	clockMargin = 10 * time.Millisecond
	// nextInterval bounds how often a process reads the time of the next rendering.
	nextInterval = 20 * time.Millisecond
	// announceInterval bounds how often a process notifies others of due renderings.
	announceInterval = 20 * time.Millisecond
	// releaseTimeout bounds the release of a rendering after its context has ended.
	releaseTimeout = 2 * time.Second
)

// render renders a subject that this process has claimed. After an error, or if ctx ends first, it releases the subject so
// that any process may claim it, and reports that it did.
func (j *Jobs) render(ctx, stop context.Context, subject studio.Subject) (released bool) {
	err := j.renderOnce(ctx, stop, subject)
	if err == nil {
		return false
	}
	if ctx.Err() == nil {
		j.report(ctx, renderWork, err)
		studio.Pause(stop, errorPause)
	}
	for !j.releaseRendering(ctx, subject.ID) && stop.Err() == nil {
		studio.Pause(stop, errorPause)
	}
	return true
}

// releaseRendering releases the claim on a subject, even if ctx has ended. It reports whether it succeeded.
func (j *Jobs) releaseRendering(ctx context.Context, subjectID string) (done bool) {
	timeoutContext, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	err := j.Store.ReleaseRendering(timeoutContext, subjectID, j.Store.ProcessID())
	j.report(ctx, renderWork, err)
	return err == nil
}

// renderOnce renders a subject once and writes the result. After an error the subject is still due.
func (j *Jobs) renderOnce(ctx, stop context.Context, subject studio.Subject) error {
	subjectID := subject.ID
	kind, outcome, began := subject.Kind, RenderingDiscarded, j.Now()
	spanContext, span := j.traceRendering(ctx, subject)
	defer func() { endRendering(span, outcome) }()
	renderContext, cancel := context.WithCancelCause(ctx)
	timeoutContext, cancelTimeout := context.WithTimeout(renderContext, j.RenderTimeout)
	release := j.renderLeases.hold(renderLease{subjectID, timeoutContext, cancel})
	result, failure := j.Renderer.Render(timeoutContext, subject)
	release()
	cancelTimeout()
	takenOver := errors.Is(context.Cause(renderContext), errTakenOver)
	cancel(nil)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	took := j.Now().Sub(began)
	defer func() { j.OnRendering(kind, outcome, took) }()
	if takenOver {
		j.Logger.WarnContext(ctx, "rendering result discarded", "id", subjectID, "err", errTakenOver)
		return nil
	}
	var err error
	write(spanContext, stop, func(ctx context.Context) bool { // the result may have taken minutes
		subject, err = j.Studio.Rendered(ctx, subjectID, result, failure)
		if errors.Is(err, studio.ErrBusy) {
			j.report(ctx, renderWork, err)
			return false
		}
		return true
	})
	if errors.Is(err, studio.ErrNotFound) {
		return nil // the subject was deleted during the rendering
	}
	if err != nil {
		return err
	}
	outcome = outcomeOfRendering(failure, subject)
	log := j.Logger.With("kind", subject.Kind, "id", subject.ID, "status", subject.Status, "duration", took, "request_id", subject.RequestID)
	if outcome == RenderingSucceeded {
		log.InfoContext(ctx, "rendered")
	} else {
		log.WarnContext(ctx, "not rendered", "outcome", string(outcome), "err", failure)
	}
	return nil
}

// renderPool claims renderings that are due and runs them.
type renderPool struct {
	jobs         *Jobs
	slots        chan struct{} // holds one value for each busy worker
	wakeup       chan struct{}
	waiting      atomic.Bool   // renderings may be due that were not in the last claim
	claimed      sync.Map      // the subjects that this process renders, by ID
	unsure       bool          // this process may have claimed others: the answer of the database was lost
	announce     chan struct{} // tells other processes to claim due renderings; nil without other processes
	pollInterval time.Duration
	clockOffset  time.Duration // of the clock of the database, relative to that of this process
	clockRead    time.Time
	nextRead     time.Time // when Store.NextRendering was called last
}

func newRenderPool(jobs *Jobs) *renderPool {
	p := &renderPool{
		jobs: jobs, slots: make(chan struct{}, max(0, jobs.RenderWorkers)), wakeup: make(chan struct{}, 1),
		pollInterval: defaultRescanInterval,
	}
	if jobs.Store.Shared() {
		p.announce, p.pollInterval = make(chan struct{}, 1), renderPollInterval
	}
	return p
}

// wake makes run look for due renderings now.
func (p *renderPool) wake() { studio.Signal(p.wakeup) }

// run starts renderings until stop ends, and then waits for those that run. Ending ctx cancels them. If this
// process makes renderings due and none of its workers is free, run notifies the other processes.
func (p *renderPool) run(ctx, stop context.Context) {
	leaseContext, endLeases := context.WithCancel(ctx)
	var workers, renewing sync.WaitGroup
	renewing.Go(func() { p.jobs.renderLeases.run(leaseContext) })
	defer renewing.Wait()
	defer endLeases()
	defer workers.Wait()
	if p.announce != nil {
		workers.Go(func() { p.notifyOthers(stop) })
	}
	for dueHere := false; stop.Err() == nil; {
		timer := time.NewTimer(p.start(ctx, stop, &workers, dueHere))
		dueHere = false
		select {
		case <-stop.Done():
		case <-p.jobs.Store.RenderDue():
			dueHere = true
		case <-p.wakeup:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// notifyOthers notifies the other processes of due renderings, at most once every announceInterval.
func (p *renderPool) notifyOthers(stop context.Context) {
	for {
		select {
		case <-stop.Done():
			return
		case <-p.announce:
		}
		p.jobs.report(stop, "announce", p.jobs.Store.NotifyRenderDue(stop))
		studio.Pause(stop, announceInterval)
	}
}

// start assigns due renderings to free workers. It returns how long to wait before the next call. If some may
// be left over, a worker that ends wakes run earlier. dueHere tells that this process made renderings due.
func (p *renderPool) start(ctx, stop context.Context, workers *sync.WaitGroup, dueHere bool) time.Duration {
	for stop.Err() == nil {
		p.waiting.Store(true) // before acquire, so that no worker ends unnoticed
		free, more := p.acquire(), true
		var err error
		if free > 0 {
			more, err = p.claim(ctx, stop, workers, free)
		}
		if err != nil {
			p.jobs.report(stop, renderWork, err)
			return errorPause
		}
		switch {
		case !more:
			p.waiting.Store(false)
			if wait := nextInterval - time.Since(p.nextRead); wait > 0 {
				return wait
			}
			p.nextRead = time.Now()
			next, err := p.jobs.Store.NextRendering(stop, p.now())
			if err != nil {
				p.jobs.report(stop, renderWork, err)
				return errorPause
			}
			if !next.IsZero() {
				return min(next.Sub(p.now()), p.pollInterval) + clockMargin
			}
			return p.pollInterval
		case free == 0:
			if dueHere && p.announce != nil {
				studio.Signal(p.announce)
			}
			return p.pollInterval
		}
	}
	return 0
}

// claim claims renderings for free workers, which acquire has reserved, and starts them. more reports whether others may be
// due.
func (p *renderPool) claim(ctx, stop context.Context, workers *sync.WaitGroup, free int) (more bool, err error) {
	var subjects []studio.Subject
	if err = p.releaseUnknown(stop); err == nil {
		err = p.readClock(stop)
	}
	if err == nil {
		subjects, more, err = p.jobs.Store.ClaimRenderings(stop, p.jobs.Store.ProcessID(), p.now(), free)
		p.unsure = err != nil
	}
	for range free - len(subjects) {
		<-p.slots
	}
	for _, subject := range subjects {
		p.claimed.Store(subject.ID, &subject)
		workers.Go(func() { p.render(ctx, stop, &subject) })
	}
	return more, err
}

// releaseUnknown releases what this process may have claimed without an answer. Otherwise it would wait for the end of its
// lease.
func (p *renderPool) releaseUnknown(stop context.Context) error {
	if !p.unsure {
		return nil
	}
	var known []string
	p.claimed.Range(func(id, _ any) bool {
		known = append(known, id.(string))
		return true
	})
	err := p.jobs.Store.ReleaseRenderings(stop, p.jobs.Store.ProcessID(), known)
	p.unsure = err != nil
	return err
}

// render renders a claimed subject with a reserved worker. It frees the worker, and starts the next renderings if there are
// any.
func (p *renderPool) render(ctx, stop context.Context, subject *studio.Subject) {
	defer p.claimed.CompareAndDelete(subject.ID, subject) // another worker may have claimed it after a release
	released := p.jobs.render(ctx, stop, *subject)
	<-p.slots
	if released || p.waiting.Load() {
		p.wake()
	}
}

// acquire reserves the free workers and returns how many they are.
func (p *renderPool) acquire() (free int) {
	for {
		select {
		case p.slots <- struct{}{}:
			free++
		default:
			return free
		}
	}
}

// now returns the time by the clock of the database.
func (p *renderPool) now() time.Time { return p.jobs.Now().Add(p.clockOffset) }

// readClock reads the clock of a shared database once every renderPollInterval.
func (p *renderPool) readClock(stop context.Context) (err error) {
	if p.announce != nil && time.Since(p.clockRead) >= renderPollInterval {
		if p.clockOffset, err = p.jobs.Store.ClockOffset(stop); err == nil {
			p.clockRead = time.Now()
		}
	}
	return err
}
