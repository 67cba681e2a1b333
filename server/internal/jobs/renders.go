package jobs

import (
	"context"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// localRenders starts renderings on a database that this process has to itself.
type localRenders struct {
	jobs *Jobs
	wake chan struct{}
	free chan struct{} // has room for the workers

	mu        sync.Mutex
	rendering map[string]struct{} // subjects
}

func newLocalRenders(jobs *Jobs) *localRenders {
	return &localRenders{
		jobs: jobs, wake: make(chan struct{}, 1), free: make(chan struct{}, jobs.RenderWorkers), rendering: make(map[string]struct{}),
	}
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

// start gives due renderings to free workers and returns when the next is due. A worker that ends
// looks again.
func (l *localRenders) start(ctx, stop context.Context, workers *sync.WaitGroup) time.Duration {
	// What is running is still due in the store, so this many hold all that can be started.
	next, err := l.jobs.Store.NextDue(stop, store.Render, 2*l.jobs.RenderWorkers)
	if err != nil {
		l.jobs.report(stop, store.Render, err)
		return errorPause
	}
	now := l.jobs.Now()
	for _, due := range next {
		if due.At.After(now) {
			return min(due.At.Sub(now), l.jobs.safetyNet)
		}
		if !l.begin(due.SubjectID) {
			continue
		}
		select {
		case l.free <- struct{}{}:
		default:
			l.end(due.SubjectID)
			return l.jobs.safetyNet
		}
		workers.Go(func() {
			if err := l.jobs.Render(ctx, due.SubjectID); err != nil {
				l.jobs.report(ctx, store.Render, err)
				pause(stop, errorPause)
			}
			l.end(due.SubjectID)
			<-l.free
			l.look()
		})
	}
	return l.jobs.safetyNet
}

func (l *localRenders) begin(subjectID string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, running := l.rendering[subjectID]
	l.rendering[subjectID] = struct{}{}
	return !running
}

func (l *localRenders) end(subjectID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.rendering, subjectID)
}
