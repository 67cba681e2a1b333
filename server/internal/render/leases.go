package render

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// renewInterval is how often a process renews its leases on renderings, and checks that the subjects still exist and
// are not taken over. The rendering of a subject that is deleted on any machine stops within one second.
const renewInterval = 800 * time.Millisecond

// errNotHeld cancels a rendering whose claim is gone.
var errNotHeld = errors.New("the subject was deleted, or another process renders it")

// leases keeps the leases on the running renderings of a process. It is safe for concurrent use.
type leases struct {
	store *store.Store
	began chan struct{} // has a value after a rendering began

	mu      sync.Mutex
	running map[*lease]struct{}
}

// lease is the lease on a rendering. It is not renewed after ctx has ended.
type lease struct {
	subjectID string
	ctx       context.Context //nolint:containedctx // of the rendering
	cancel    context.CancelCauseFunc
}

// hold keeps a lease until release is called.
func (l *leases) hold(held lease) (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running[&held] = struct{}{}
	studio.Signal(l.began)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.running, &held)
	}
}

// run renews the leases until ctx ends. It cancels a rendering if the subject was deleted or another process has taken
// it over. Errors of the database do not end a rendering.
func (l *leases) run(ctx context.Context) {
	for ; ctx.Err() == nil; studio.Pause(ctx, renewInterval) {
		running, ids := l.all()
		if len(running) == 0 {
			select {
			case <-ctx.Done():
			case <-l.began:
			}
			continue
		}
		held, err := l.store.RenewRenderings(ctx, l.store.ProcessID(), ids)
		for _, lease := range running {
			if err == nil && !slices.Contains(held, lease.subjectID) {
				lease.cancel(errNotHeld)
			}
		}
	}
}

// all returns the leases to be renewed, and the subjects.
func (l *leases) all() (running []*lease, subjectIDs []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for lease := range l.running {
		if lease.ctx.Err() == nil {
			running, subjectIDs = append(running, lease), append(subjectIDs, lease.subjectID)
		}
	}
	return running, subjectIDs
}
