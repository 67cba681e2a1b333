package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

const (
	deliverWorkers = 64
	renderWorkers  = 16
	// defaultSafetyNet is how often a look is taken when nothing says that one is needed:
	// another process may have changed the database.
	defaultSafetyNet = 30 * time.Second
	pruneInterval    = time.Hour
	// errorPause keeps work whose bookkeeping failed from being repeated at once.
	errorPause = time.Second
)

// Local starts work when the store says that some is due. It holds in memory what is running,
// so it must be the only one on its database; after a restart everything due starts at once.
type Local struct {
	jobs   *Jobs
	queues []*queue
	ended  chan struct{} // receives after a worker has ended

	safetyNet time.Duration
}

// queue is one kind of work and its workers.
type queue struct {
	work    store.Work
	do      func(ctx, stop context.Context, subjectID string) error
	workers int

	mu      sync.Mutex
	running map[string]struct{} // subjects
}

// NewLocal makes a Local with 64 workers for deliveries and 16 for renderings.
func NewLocal(jobs *Jobs) *Local {
	return &Local{jobs: jobs, ended: make(chan struct{}, 1), safetyNet: defaultSafetyNet, queues: []*queue{
		{work: store.Render, do: jobs.render, workers: renderWorkers, running: make(map[string]struct{})},
		{work: store.Deliver, do: jobs.Deliver, workers: deliverWorkers, running: make(map[string]struct{})},
	}}
}

// Run works until stop ends, and then waits for what is running. Work is done under ctx: ending
// that too cuts off what is still running, which is then due again at the next start.
func (l *Local) Run(ctx, stop context.Context) {
	var workers sync.WaitGroup
	defer workers.Wait()
	prune := l.jobs.Now()
	for {
		now := l.jobs.Now()
		if !now.Before(prune) {
			prune = now.Add(pruneInterval)
			workers.Go(func() { l.report(ctx, "prune", l.jobs.Store.Prune(stop, now)) })
		}
		wait := l.safetyNet
		for _, q := range l.queues {
			next, err := l.start(ctx, stop, &workers, q, now)
			if err != nil {
				l.report(ctx, string(q.work), err)
				next = now.Add(errorPause)
			}
			if !next.IsZero() {
				wait = min(wait, next.Sub(now))
			}
		}
		timer := time.NewTimer(max(wait, 0))
		select {
		case <-stop.Done():
			timer.Stop()
			return
		case <-l.jobs.Store.Due():
		case <-l.ended:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// start gives due work to free workers and returns when to look again: the zero time when only
// a change or the end of a worker can bring more work.
func (l *Local) start(
	ctx, stop context.Context, workers *sync.WaitGroup, q *queue, now time.Time,
) (time.Time, error) {
	// What is running is still due in the store, so this many hold all that can be started.
	next, err := l.jobs.Store.NextDue(ctx, q.work, 2*q.workers)
	if err != nil {
		return time.Time{}, err
	}
	for _, due := range next {
		if due.At.After(now) {
			return due.At, nil
		}
		id := due.SubjectID
		if !q.take(id) {
			continue
		}
		workers.Go(func() {
			if err := q.do(ctx, stop, id); err != nil {
				l.report(ctx, string(q.work), err)
				pause(stop, errorPause)
			}
			q.release(id)
			select {
			case l.ended <- struct{}{}:
			default: // Run has not taken the last one and will see this end too
			}
		})
	}
	return time.Time{}, nil
}

// take reserves a worker for a subject; false when it has one or none is free.
func (q *queue) take(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, running := q.running[id]; running || len(q.running) >= q.workers {
		return false
	}
	q.running[id] = struct{}{}
	return true
}

func (q *queue) release(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.running, id)
}

func (l *Local) report(ctx context.Context, work string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		l.jobs.Logger.ErrorContext(ctx, "work failed", "work", work, "err", err)
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
