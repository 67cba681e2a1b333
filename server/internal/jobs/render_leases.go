package jobs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// renewRenderInterval is how often a process renews its leases on renderings.
	renewRenderInterval = time.Second
	// checkRenderInterval is how often a process checks that the subjects still exist and are not taken over.
	// The rendering of a subject that is deleted on any machine stops within one second.
	checkRenderInterval = 400 * time.Millisecond
)

// errTakenOver cancels a rendering that another process has taken over.
var errTakenOver = errors.New("another process renders the subject")

// renderLeases keeps the leases on the running renderings of a process. It is safe for concurrent use.
type renderLeases struct {
	jobs  *Jobs
	began chan struct{} // has a value after a rendering began

	mu      sync.Mutex
	running map[*renderLease]struct{}
}

// renderLease is the lease on a rendering. It is not renewed after ctx has ended.
type renderLease struct {
	subjectID string
	ctx       context.Context //nolint:containedctx // of the rendering
	cancel    context.CancelCauseFunc
}

// hold keeps a lease until release is called.
func (l *renderLeases) hold(lease renderLease) (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running[&lease] = struct{}{}
	studio.Signal(l.began)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.running, &lease)
	}
}

// run renews the leases until ctx ends. It cancels a rendering if the subject was deleted or another process has taken it
// over. Errors of the database do not end a rendering.
func (l *renderLeases) run(ctx context.Context) {
	var renewed time.Time
	for ; ctx.Err() == nil; studio.Pause(ctx, checkRenderInterval) {
		running, ids := l.all()
		if len(running) == 0 {
			select {
			case <-ctx.Done():
			case <-l.began:
			}
			continue
		}
		if time.Since(renewed) >= renewRenderInterval && l.jobs.Store.RenewRenderings(ctx, l.jobs.Store.ProcessID(), ids) == nil {
			renewed = time.Now()
		}
		held, err := l.jobs.Store.HeldRenderings(ctx, l.jobs.Store.ProcessID(), ids)
		if err != nil {
			continue
		}
		for _, lease := range running {
			if slices.Contains(held, lease.subjectID) {
				continue
			}
			switch _, err = l.jobs.Store.Subject(ctx, lease.subjectID); {
			case errors.Is(err, studio.ErrNotFound):
				lease.cancel(err)
			case err == nil:
				lease.cancel(errTakenOver)
			}
		}
	}
}

// all returns the leases to be renewed, and the subjects.
func (l *renderLeases) all() (running []*renderLease, subjectIDs []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for lease := range l.running {
		if lease.ctx.Err() == nil {
			running, subjectIDs = append(running, lease), append(subjectIDs, lease.subjectID)
		}
	}
	return running, subjectIDs
}
