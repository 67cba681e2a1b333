package jobs

import (
	"context"
	"sync"
	"time"
)

// claimBatcher claims renderings for several workers with one statement. Workers that claimed one by one
// would all choose the same row and wait for its lock.
type claimBatcher struct {
	jobs     *Jobs
	claiming chan struct{} // a mutex, held by the worker that claims for the batch

	mu      sync.Mutex
	waiting []*claimRequest
}

// claimRequest is the request of one worker for a rendering. The result is set before done is closed.
type claimRequest struct {
	now       time.Time
	subjectID string
	err       error
	done      chan struct{}
}

func newClaimBatcher(jobs *Jobs) *claimBatcher {
	return &claimBatcher{jobs: jobs, claiming: make(chan struct{}, 1)}
}

// claim claims a rendering that is due at now and returns the ID of its subject, or "" if there is none.
// The first waiting worker claims for all waiting workers, as soon as the batch before has ended.
func (c *claimBatcher) claim(ctx context.Context, now time.Time) (subjectID string, err error) {
	request := &claimRequest{now: now, done: make(chan struct{})}
	c.mu.Lock()
	c.waiting = append(c.waiting, request)
	first := len(c.waiting) == 1
	c.mu.Unlock()
	if first {
		c.claiming <- struct{}{}
		c.mu.Lock()
		batch := c.waiting
		c.waiting = nil
		c.mu.Unlock()
		c.claimBatch(context.WithoutCancel(ctx), batch)
		<-c.claiming
	}
	<-request.done
	return request.subjectID, request.err
}

func (c *claimBatcher) claimBatch(ctx context.Context, batch []*claimRequest) {
	latest := batch[0].now
	for _, request := range batch {
		if request.now.After(latest) {
			latest = request.now
		}
	}
	subjectIDs, err := c.jobs.Store.ClaimRenderings(ctx, c.jobs.processID, latest, len(batch))
	for i, request := range batch {
		if request.err = err; i < len(subjectIDs) {
			request.subjectID = subjectIDs[i]
		}
		close(request.done)
	}
}
