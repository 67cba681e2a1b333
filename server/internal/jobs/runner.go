package jobs

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/deliver/lanes"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// defaultRescanInterval bounds how late due work is found whose notification was lost.
	defaultRescanInterval = 30 * time.Second
	pruneInterval         = time.Hour
	seenInterval          = 15 * time.Second
	// taskInterval bounds how late a daemon begins a task.
	taskInterval = time.Minute
	// errorPause is the pause before work is repeated after an error of the database.
	errorPause = time.Second

	renderWork, deliverWork, alertWork, laneWork = "render", "deliver", "alert", "lease" // for report
)

// Runner renders subjects and delivers events when they are due. Use one per process.
type Runner struct {
	jobs       *Jobs
	deliverer  *deliverer
	laneConfig lanes.Config
	lanes      lanes.Lanes
	renderPool *renderPool
	deaf       bool // it gets no notifications; set by tests
}

// NewRunner returns a Runner for the database of the store. Open the store with [store.Config].Daemon set.
func NewRunner(jobs *Jobs) *Runner {
	r := &Runner{jobs: jobs, deliverer: newDeliverer(jobs), renderPool: newRenderPool(jobs)}
	r.laneConfig = lanes.Config{
		Store: jobs.Store, RescanInterval: jobs.rescanInterval, Logger: jobs.Logger, Now: jobs.Now,
		OnShift: func() { studio.Signal(jobs.tasksDue) },
		OnError: func(ctx context.Context, err error) { jobs.report(ctx, laneWork, err) },
	}
	r.makeLanes()
	return r
}

func (r *Runner) makeLanes() {
	r.lanes = lanes.New(r.laneConfig)
	r.deliverer.databaseNow = r.lanes.Now
}

// HoldsLease reports whether this process has a valid lease, which deliveries need. On SQLite it always has. It is
// safe for concurrent use.
func (r *Runner) HoldsLease() bool { return r.lanes.Valid() }

// Worker renders subjects and delivers no events.
type Worker struct{ renderPool *renderPool }

// NewWorker returns a Worker. The store must be shared; see [store.Store.Shared]. Open it with
// [store.Config].Daemon unset, so that the daemons are notified immediately of the events that a rendering
// creates.
func NewWorker(jobs *Jobs) *Worker { return &Worker{newRenderPool(jobs)} }

// Run renders until stop ends, and then waits for the running renderings. Ending ctx cancels them; they are
// then due again. Run must be called once.
func (w *Worker) Run(ctx, stop context.Context) {
	var listening sync.WaitGroup
	defer listening.Wait()
	listening.Go(func() { w.renderPool.jobs.beSeen(stop) })
	listening.Go(func() {
		w.renderPool.jobs.listen(stop, store.NotificationHandler{Ready: w.renderPool.wake, RenderDue: w.renderPool.wake})
	})
	w.renderPool.run(ctx, stop)
}

// Run starts work until stop ends, and then waits for the work that runs. Work runs under ctx: ending ctx
// cancels it, and it is then due again. Run must be called once.
func (r *Runner) Run(ctx, stop context.Context) {
	var background sync.WaitGroup
	background.Go(func() { r.jobs.prune(stop) })
	background.Go(func() { r.jobs.finishTasks(stop) })
	background.Go(func() { r.jobs.beSeen(stop) })
	background.Go(func() { r.jobs.replay(stop) })
	background.Go(func() { r.jobs.alert(stop) })
	background.Go(func() { r.renderPool.run(ctx, stop) })
	background.Go(func() { r.watch(stop) })
	// The process holds its lanes until no attempt is running.
	holdContext, release := context.WithCancel(context.WithoutCancel(ctx))
	var holderRunning sync.WaitGroup
	holderRunning.Go(func() { r.lanes.Run(holdContext, r.deliverer) })
	holderRunning.Go(func() { r.jobs.saveEndpoints(ctx, holdContext) })
	if !r.deaf {
		holderRunning.Go(func() { r.listen(holdContext) })
	}
	r.deliverer.run(ctx, stop)
	release()
	holderRunning.Wait()
	r.lanes.Release(context.WithoutCancel(ctx))
	background.Wait()
}

// listen passes the notifications of other processes to the deliverer, the lanes and the render pool.
func (r *Runner) listen(stop context.Context) {
	r.jobs.listen(stop, store.NotificationHandler{
		Ready: func() {
			r.deliverer.Scan()
			r.renderPool.wake()
		},
		Due:       func(flow store.Flow) { r.deliverer.call(func() { r.deliverer.markDue([]store.Flow{flow}) }) },
		Deleted:   func(flow store.Flow) { r.deliverer.call(func() { r.deliverer.invalidate([]store.Flow{flow}) }) },
		Released:  r.lanes.Wake,
		RenderDue: r.renderPool.wake,
	})
}

// listen passes the notifications of other processes to handler until stop ends. It reconnects after an error.
func (j *Jobs) listen(stop context.Context, handler store.NotificationHandler) {
	for stop.Err() == nil {
		j.report(stop, "listen", j.Store.Listen(stop, handler))
		studio.Pause(stop, errorPause)
	}
}

// watch passes the signals of the store to the deliverer and the other processes.
func (r *Runner) watch(stop context.Context) {
	for {
		select {
		case <-stop.Done():
			return
		case <-r.jobs.Store.Due():
		}
		r.pass(stop, r.jobs.Store.TakeDeleted(), r.deliverer.invalidate, r.jobs.Store.NotifyDeleted)
		r.pass(stop, r.jobs.Store.TakeDue(), r.deliverer.markDue, r.jobs.Store.NotifyDue)
	}
}

// pass calls apply with flows in the goroutine of the deliverer, and notify with those that other processes hold.
func (r *Runner) pass(
	stop context.Context, flows []store.Flow, apply func([]store.Flow) (notHeld []store.Flow), notify func(context.Context, []store.Flow) error,
) {
	if len(flows) == 0 {
		return
	}
	r.deliverer.call(func() {
		if notHeld := apply(flows); len(notHeld) > 0 {
			r.deliverer.background.Go(func() { r.jobs.report(stop, "announce", notify(stop, notHeld)) })
		}
	})
}

// prune deletes expired rows every pruneInterval until stop ends.
func (j *Jobs) prune(stop context.Context) {
	for stop.Err() == nil {
		if err := j.Store.Prune(stop, j.Now()); err != nil {
			j.report(stop, "prune", err)
		}
		studio.Pause(stop, pruneInterval)
	}
}

// finishTasks finishes the tasks that are due until stop ends: shifts of due times, and erasures that another process has
// begun and not finished.
func (j *Jobs) finishTasks(stop context.Context) {
	for stop.Err() == nil {
		j.report(stop, "task", j.Studio.FinishTasks(stop))
		select {
		case <-stop.Done():
		case <-j.tasksDue:
		case <-time.After(taskInterval):
		}
	}
}

// beSeen stores every seenInterval that this process runs, until stop ends.
func (j *Jobs) beSeen(stop context.Context) {
	daemon := j.Daemon
	if daemon.Version == "" {
		return
	}
	daemon.ID, daemon.Started = j.Store.ProcessID(), j.Now()
	for stop.Err() == nil {
		j.report(stop, "be seen", j.Store.SeeDaemon(stop, daemon))
		studio.Pause(stop, seenInterval)
	}
	ended, cancel := context.WithTimeout(context.WithoutCancel(stop), releaseTimeout)
	defer cancel()
	j.report(ended, "be seen", j.Store.RemoveDaemon(ended, daemon.ID))
}

// report logs an error of some work, as [faultlog.Log] does. It ignores a nil error and the end of a context.
func (j *Jobs) report(ctx context.Context, work string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		j.faults.Report(ctx, slog.LevelError, work, "work failed", "work", work, "err", err)
	}
}

const (
	// write repeats with a pause from minWritePause to maxWritePause, so what follows the write is late by up to that after
	// an outage. After its end it repeats for up to lastWrites, with lastWritePause.
	minWritePause, maxWritePause = time.Second, 5 * time.Second
	lastWrites, lastWritePause   = 2 * time.Second, 250 * time.Millisecond
)

// write calls try until it returns true, or until stop or ctx has ended and a further lastWrites have passed. So a result is
// written although the database was unavailable, and a process ends although it is.
func write(ctx, stop context.Context, try func(ctx context.Context) (done bool)) {
	repeating, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(stop, cancel)()
	for wait := minWritePause; repeating.Err() == nil; wait = min(2*wait, maxWritePause) {
		if try(ctx) {
			return
		}
		studio.Pause(repeating, wait)
	}
	last, cancelLast := context.WithTimeout(context.WithoutCancel(ctx), lastWrites)
	defer cancelLast()
	for !try(last) && last.Err() == nil {
		studio.Pause(last, lastWritePause)
	}
}
