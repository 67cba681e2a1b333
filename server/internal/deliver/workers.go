package deliver

import (
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// maxOvercommit bounds the concurrent attempts, as a multiple of Config.Workers, if more users than there
// are workers have one attempt each.
const maxOvercommit = 4

// startDue assigns free workers to due flows. It returns how long to wait before the next call, if nothing
// changes before.
func (d *Deliverer) startDue() time.Duration {
	if d.leaseExpired() {
		d.dropAllLanes()
	}
	now := d.now()
	d.origins.sweep(now)
	d.queue.makeDueReady(now)
	for c := range classes {
		for {
			f := d.queue.next(c)
			// At least as many workers stay free as the user has busy, so that another user does not wait.
			if f == nil || f.user.busyWorkers[c] >= d.freeWorkers(c) && !d.mayOvercommit(f.user, c) {
				break
			}
			// Without this, a flow that became due after now would stay ready and never start.
			d.startFlow(f, c, d.now())
		}
	}
	d.fetch()
	next := d.queue.nextReadyAt()
	if next.IsZero() {
		return d.RescanInterval
	}
	return max(next.Sub(now), 0)
}

// freeWorkers returns how many workers are free for a class. Unproven origins share three quarters of the workers.
func (d *Deliverer) freeWorkers(c class) int {
	workers, unproven := d.Workers-d.busyWorkers[proven], d.busyWorkers[untried]+d.busyWorkers[failing]
	maxUnproven := max(d.Workers*3/4, 1)
	if c == proven {
		return workers - min(unproven, maxUnproven)
	}
	return min(workers, maxUnproven) - unproven
}

// mayOvercommit reports whether a user gets an extra worker although none is free: the user has no busy worker in the
// class.
func (d *Deliverer) mayOvercommit(u *user, c class) bool {
	return u.busyWorkers[c] == 0 && d.busyWorkers[proven]+d.busyWorkers[untried]+d.busyWorkers[failing] < maxOvercommit*d.Workers
}

// startFlow starts the first delivery of a flow, or queues a read of the flow.
func (d *Deliverer) startFlow(f *flow, c class, now time.Time) {
	d.queue.removeReady(f)
	f.origin.clearTimed(f)
	if f.origin.class() != c {
		d.reschedule(f)
		return
	}
	if len(f.loaded) > 0 && (now.Sub(f.loadedAt) > maxLoadedAge || f.invalidatedAt.After(f.loadedAt)) {
		f.loaded, f.fetchAt = nil, now
	}
	if len(f.loaded) == 0 {
		if f.fetchAt.IsZero() || f.fetchAt.After(now) {
			d.reschedule(f)
			d.unblockNext(f.origin)
			return
		}
		f.fetching, f.fetchAt, f.endedDuringFetch = true, time.Time{}, nil
		d.fetchQueue = append(d.fetchQueue, f)
		d.unblockNext(f.origin)
		return
	}
	free, at := d.origins.free(f.origin, now)
	if free == 0 {
		if f.origin.block(f, at) {
			d.queue.makeReadyAt(f, at)
		}
		return
	}
	next := f.loaded[0]
	f.loaded = f.loaded[1:]
	d.origins.beginAttempt(f.origin, now)
	f.running[next.Event.SubjectID] = attempt{eventID: next.Event.ID}
	d.busyWorkers[c]++
	d.queue.addBusy(f.user, c, 1)
	d.reschedule(f)
	d.unblockNext(f.origin)
	lease, fence := d.leaseContext, d.fence
	d.attempts.Go(func() {
		nextDue := d.deliver(lease, fence, f, next)
		d.call(func() { d.workDone(f, c, next.Event.SubjectID, nextDue) })
	})
}

// workDone frees the worker of an attempt. The next event of the subject is due at nextDue, by the clock of
// the database; nextDue is zero if no event is pending.
func (d *Deliverer) workDone(f *flow, c class, subjectID string, nextDue time.Time) {
	ended := f.running[subjectID]
	delete(f.running, subjectID)
	if f.fetching {
		if f.endedDuringFetch == nil {
			f.endedDuringFetch = make(map[string]attempt)
		}
		f.endedDuringFetch[subjectID] = ended
	}
	d.busyWorkers[c]--
	d.queue.addBusy(f.user, c, -1)
	switch {
	case nextDue.IsZero():
	case d.heldLanes[f.lane]:
		f.fetchBy(d.localTime(nextDue))
	case d.leaseContext.Err() == nil: // the lane was released during the attempt
		d.announce(store.SignalDue, f.Flow)
	}
	if ended.followed && d.heldLanes[f.lane] {
		f.fetchBy(d.now())
	}
	d.reschedule(f)
}

// attemptDone counts the end of an attempt for its origin. It saves and logs a change of the circuit breaker.
func (d *Deliverer) attemptDone(f *flow, result originResult) {
	o := f.origin
	before := o.class()
	opened, closed := d.origins.endAttempt(o, result, d.now())
	if o.class() != before {
		d.queue.reclassify(o)
	}
	d.unblockNext(o)
	if opened > 0 {
		d.Logger.WarnContext(d.ctx, "origin is failing", "origin", o.name, "pause", opened)
		breaker := store.Breaker{Origin: o.name, Until: d.databaseNow().Add(opened), Pause: opened}
		d.background.Go(func() { d.faults.Error(d.ctx, "breaker", d.Store.SaveBreaker(d.ctx, breaker)) })
	}
	if closed {
		d.Logger.InfoContext(d.ctx, "origin recovers", "origin", o.name)
		d.background.Go(func() { d.faults.Error(d.ctx, "breaker", d.Store.ForgetBreaker(d.ctx, o.name)) })
	}
}

// unblockNext makes the flow ready that has waited the longest for an origin. It may be blocked again.
func (d *Deliverer) unblockNext(o *origin) {
	if f := o.unblock(); f != nil {
		d.reschedule(f)
	}
}
