package jobs

import (
	"context"
	"sync"
	"time"
)

// claims claims renderings for many workers at once. Workers that each claimed one would all choose the
// same, and wait for each other.
type claims struct {
	jobs *Jobs
	turn chan struct{} // held by the worker that claims for all

	mu      sync.Mutex
	waiting []*claim
}

// claim is what one worker waits for.
type claim struct {
	now       time.Time
	subjectID string
	err       error
	done      chan struct{}
}

func newClaims(jobs *Jobs) *claims { return &claims{jobs: jobs, turn: make(chan struct{}, 1)} }

// claim takes a rendering that is due at now; "" when there is none. The first of the workers that wait
// claims for all of them, once those before have theirs.
func (c *claims) claim(ctx context.Context, now time.Time) (subjectID string, err error) {
	mine := &claim{now: now, done: make(chan struct{})}
	c.mu.Lock()
	c.waiting = append(c.waiting, mine)
	first := len(c.waiting) == 1
	c.mu.Unlock()
	if first {
		c.turn <- struct{}{}
		c.mu.Lock()
		all := c.waiting
		c.waiting = nil
		c.mu.Unlock()
		c.claimFor(context.WithoutCancel(ctx), all)
		<-c.turn
	}
	<-mine.done
	return mine.subjectID, mine.err
}

func (c *claims) claimFor(ctx context.Context, all []*claim) {
	latest := all[0].now
	for _, one := range all {
		if one.now.After(latest) {
			latest = one.now
		}
	}
	subjectIDs, err := c.jobs.Store.ClaimRenderings(ctx, c.jobs.id, latest, len(all))
	for i, one := range all {
		if one.err = err; i < len(subjectIDs) {
			one.subjectID = subjectIDs[i]
		}
		close(one.done)
	}
}
