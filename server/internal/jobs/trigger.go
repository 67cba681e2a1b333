package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

const (
	defaultSafetyNet = 30 * time.Second
	pruneInterval    = time.Hour
	// errorPause keeps work whose bookkeeping failed from being repeated at once.
	errorPause = time.Second
)

// Trigger starts work when some is due.
type Trigger struct {
	jobs      *Jobs
	deliverer *deliverer
	holder    holder
	renders   renders
}

// holder decides for which lanes a process delivers.
type holder interface {
	// run tells d, until stop ends.
	run(stop context.Context, d *deliverer)
	// leave gives everything to others. Nothing is at work any more.
	leave(ctx context.Context)
	// announce tells other processes that events of theirs have become due.
	announce(ctx context.Context, lines []store.Line)
	// announceDeleted tells them that subjects of theirs were deleted.
	announceDeleted(ctx context.Context, lines []store.Line)
}

// renders starts renderings.
type renders interface {
	// run works until stop ends, and then waits for what is running, which ending ctx cuts off.
	run(ctx, stop context.Context)
	// look says that some may have become due in this process.
	look()
}

// NewTrigger makes the trigger for the kind of database that the store is on.
func NewTrigger(jobs *Jobs) (*Trigger, error) {
	t := &Trigger{jobs: jobs, deliverer: newDeliverer(jobs)}
	if jobs.Store.Pool() == nil {
		t.holder = newSoleHolder()
	} else {
		t.holder = newLaneHolder(jobs, t.deliverer)
	}
	var err error
	t.renders, err = newRenders(jobs)
	return t, err
}

func newRenders(jobs *Jobs) (renders, error) {
	switch {
	case jobs.RenderWorkers < 0:
		return noRenders{}, nil
	case jobs.Store.Pool() == nil:
		return newLocalRenders(jobs), nil
	default:
		return newRiverRenders(jobs)
	}
}

// Worker renders, and leaves the rest to other processes.
type Worker struct{ renders renders }

// NewWorker makes a worker. Its store should be opened as a command's, so that others learn at once
// what there is to deliver.
func NewWorker(jobs *Jobs) (*Worker, error) {
	renders, err := newRenders(jobs)
	return &Worker{renders}, err
}

// Run is [Trigger.Run].
func (w *Worker) Run(ctx, stop context.Context) { w.renders.run(ctx, stop) }

// Run works until stop ends, and then waits for what is running. Work is done under ctx: ending
// that too cuts off what is still running, which is then due again. Run must be called once.
func (t *Trigger) Run(ctx, stop context.Context) {
	var working sync.WaitGroup
	working.Go(func() { t.jobs.prune(stop) })
	working.Go(func() { t.jobs.repairAll(stop) })
	working.Go(func() { t.renders.run(ctx, stop) })
	working.Go(func() { t.watch(stop) })
	// The lanes are held until nothing is at work.
	holding, release := context.WithCancel(context.WithoutCancel(ctx))
	var held sync.WaitGroup
	held.Go(func() { t.holder.run(holding, t.deliverer) })
	t.deliverer.run(ctx, stop)
	release()
	held.Wait()
	t.holder.leave(context.WithoutCancel(ctx))
	working.Wait()
}

// watch passes on what the store says is due.
func (t *Trigger) watch(stop context.Context) {
	for {
		select {
		case <-stop.Done():
			return
		case <-t.jobs.Store.Due():
		}
		t.renders.look()
		if lines := t.jobs.Store.Deleted(); len(lines) > 0 {
			t.deliverer.call(func() {
				if others := t.deliverer.readAgain(lines); len(others) > 0 {
					t.deliverer.others.Go(func() { t.holder.announceDeleted(stop, others) })
				}
			})
		}
		if lines := t.jobs.Store.Woken(); len(lines) > 0 {
			t.deliverer.call(func() {
				if others := t.deliverer.wake(lines); len(others) > 0 {
					t.deliverer.others.Go(func() { t.holder.announce(stop, others) })
				}
			})
		}
	}
}

func (j *Jobs) prune(stop context.Context) {
	for stop.Err() == nil {
		if err := j.Store.Prune(stop, j.Now()); err != nil {
			j.report(stop, "prune", err)
		}
		pause(stop, pruneInterval)
	}
}

func (j *Jobs) report(ctx context.Context, work store.Work, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		j.Logger.ErrorContext(ctx, "work failed", "work", string(work), "err", err)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
