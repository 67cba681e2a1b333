package jobs

import (
	"context"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// defaultPoll is how often the database is asked whether another process has changed it.
const defaultPoll = 500 * time.Millisecond

// Local starts work when the store says that some is due. It holds in memory what is running,
// so it must be the only one on its database; after a restart everything due starts at once, as
// far as the limits of the receivers let it.
//
// Origins take turns: however many events wait for one, another with an event that is due gets
// the next free worker.
type Local struct {
	jobs *Jobs

	lines      *lines
	delivering int
	rendering  map[string]struct{} // subjects
	renderAt   time.Time           // when to look for renderings
	ended      chan end            // has room for every worker
	found      chan []store.OriginDue

	poll, safetyNet time.Duration
}

// end tells that a worker has ended.
type end struct {
	subjectID string
	line      *line // of a delivery; nil for a rendering
}

// NewLocal makes a Local with 16 workers for renderings and the configured ones for deliveries.
func NewLocal(jobs *Jobs) *Local {
	return &Local{
		jobs: jobs, lines: newLines(), rendering: make(map[string]struct{}),
		ended: make(chan end, renderWorkers+jobs.Workers), found: make(chan []store.OriginDue),
		poll: defaultPoll, safetyNet: defaultSafetyNet,
	}
}

// Run works until stop ends, and then waits for what is running. Work is done under ctx: ending
// that too cuts off what is still running, which is then due again at the next start. Run must be
// called once.
func (l *Local) Run(ctx, stop context.Context) {
	var workers sync.WaitGroup
	defer workers.Wait()
	workers.Go(func() { l.jobs.prune(stop) })
	workers.Go(func() {
		l.jobs.repairAll(stop)
		l.watch(stop)
	})
	for {
		timer := time.NewTimer(l.start(ctx, stop, &workers))
		select {
		case <-stop.Done():
			timer.Stop()
			return
		case <-l.jobs.Store.Due():
			l.lookAt(l.jobs.Store.Woken())
		case e := <-l.ended:
			l.end(e)
		case origins := <-l.found:
			l.renderAt = l.jobs.Now()
			for _, due := range origins {
				l.lines.look(due.Origin, due.At)
			}
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (l *Local) lookAt(origins []string) {
	now := l.jobs.Now()
	l.renderAt = now
	for _, origin := range origins {
		l.lines.look(origin, now)
	}
}

func (l *Local) end(e end) {
	now := l.jobs.Now()
	if e.line == nil {
		delete(l.rendering, e.subjectID)
		l.renderAt = now
		return
	}
	l.delivering--
	delete(e.line.running, e.subjectID)
	l.lines.look(e.line.origin, now)
}

// start gives due work to free workers and returns how long there is nothing more to start, unless
// something changes.
func (l *Local) start(ctx, stop context.Context, workers *sync.WaitGroup) time.Duration {
	now := l.jobs.Now()
	wait := l.safetyNet
	if !l.renderAt.After(now) {
		l.startRenderings(ctx, stop, workers, now)
	}
	wait = min(wait, l.renderAt.Sub(now))
	for l.delivering < l.jobs.Workers {
		at, ok := l.lines.first()
		if !ok {
			break
		}
		if at.After(now) {
			wait = min(wait, at.Sub(now))
			break
		}
		l.startDeliveries(ctx, stop, workers, l.lines.take(), now)
	}
	return wait
}

func (l *Local) startRenderings(ctx, stop context.Context, workers *sync.WaitGroup, now time.Time) {
	l.renderAt = now.Add(l.safetyNet)
	// What is running is still due in the store, so this many hold all that can be started.
	next, err := l.jobs.Store.NextDue(ctx, store.Render, 2*renderWorkers)
	if err != nil {
		l.jobs.report(ctx, store.Render, err)
		l.renderAt = now.Add(errorPause)
	}
	for _, due := range next {
		if due.At.After(now) {
			l.renderAt = due.At
			return
		}
		if _, running := l.rendering[due.SubjectID]; running {
			continue
		}
		if len(l.rendering) == renderWorkers {
			return
		}
		l.rendering[due.SubjectID] = struct{}{}
		workers.Go(func() {
			l.pauseAfter(ctx, stop, store.Render, l.jobs.Render(ctx, due.SubjectID))
			l.ended <- end{subjectID: due.SubjectID}
		})
	}
}

// startDeliveries gives the first events of a line to workers, as far as its origin has room, and
// says when to look at the line again. At the end of any of its workers it is looked at anyway.
func (l *Local) startDeliveries(ctx, stop context.Context, workers *sync.WaitGroup, line *line, now time.Time) {
	defer l.lines.leave(line)
	free, at := l.jobs.origins.free(line.origin)
	if free == 0 {
		if !at.IsZero() {
			l.lines.look(line.origin, at)
		}
		return
	}
	// What is running is among the first that are due, and one more tells when to look again.
	next, err := l.jobs.Store.NextDueAt(ctx, line.origin, len(line.running)+free+1)
	if err != nil {
		l.jobs.report(ctx, store.Deliver, err)
		l.lines.look(line.origin, now.Add(errorPause))
		return
	}
	for _, due := range next {
		if _, running := line.running[due.SubjectID]; running {
			continue
		}
		if due.At.After(now) || l.delivering == l.jobs.Workers {
			l.lines.look(line.origin, latest(due.At, now))
			return
		}
		if admitted, _ := l.jobs.origins.admit(line.origin); !admitted { //nolint:contextcheck // it does not wait
			l.lines.look(line.origin, now) // and ask when there is room again
			return
		}
		l.delivering++
		line.running[due.SubjectID] = struct{}{}
		workers.Go(func() {
			_, _, err := l.jobs.deliver(ctx, stop, due.SubjectID, line.origin, 0)
			l.pauseAfter(ctx, stop, store.Deliver, err)
			l.ended <- end{due.SubjectID, line}
		})
	}
}

// watch finds the origins that events wait for: at the start, after a change by another process,
// and at times for safety.
func (l *Local) watch(stop context.Context) {
	var looked time.Time
	for stop.Err() == nil {
		changed, err := l.jobs.Store.ChangedElsewhere(stop)
		l.jobs.report(stop, store.Deliver, err)
		if now := l.jobs.Now(); changed || now.Sub(looked) >= l.safetyNet {
			origins, err := l.jobs.Store.DueOrigins(stop)
			if looked = now; err != nil {
				looked = time.Time{} // look again soon
			}
			l.jobs.report(stop, store.Deliver, err)
			select {
			case l.found <- origins:
			case <-stop.Done():
			}
		}
		pause(stop, l.poll)
	}
}

// pauseAfter reports an error of a worker and keeps the worker for a while.
func (l *Local) pauseAfter(ctx, stop context.Context, work store.Work, err error) {
	if err != nil {
		l.jobs.report(ctx, work, err)
		pause(stop, errorPause)
	}
}
