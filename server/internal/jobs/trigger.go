package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

const (
	renderWorkers = 16
	// defaultSafetyNet is how often a look is taken at everything when nothing says that one is
	// needed.
	defaultSafetyNet = 30 * time.Second
	pruneInterval    = time.Hour
	// errorPause keeps work whose bookkeeping failed from being repeated at once.
	errorPause = time.Second
)

// Trigger starts work when some is due: a [Local] or a [River].
type Trigger interface {
	// Run works until stop ends, and then waits for what is running, which ending ctx cuts off.
	Run(ctx, stop context.Context)
}

// NewTrigger makes the trigger for the kind of database that the store is on.
func NewTrigger(jobs *Jobs) (Trigger, error) {
	if jobs.Store.Pool() != nil {
		return NewRiver(jobs)
	}
	return NewLocal(jobs), nil
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
