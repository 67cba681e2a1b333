package jobs

import (
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// SetRescanInterval sets how often due work is looked for without a notification.
func (r *Runner) SetRescanInterval(d time.Duration) {
	r.jobs.rescanInterval, r.renderPool.pollInterval = d, d
	if h, ok := r.holder.(*soleHolder); ok {
		h.pollInterval = d
	}
}

// SetPollInterval sets how often due renderings are looked for without a notification.
func (w *Worker) SetPollInterval(d time.Duration) { w.renderPool.pollInterval = d }

// SetSoleProcess makes a Runner on PostgreSQL run in a synctest bubble: nothing waits for the network, no
// other process uses the database, and the clock of this process stands in for that of the database.
func (r *Runner) SetSoleProcess() {
	h := r.holder.(*leaseHolder)
	h.renewInterval, h.usableLease, h.listenDisabled = 1000*time.Hour, 2000*time.Hour, true
	r.deliverer.databaseNow = r.jobs.Now
	r.renderPool.announce = nil
}

// SetRenewal sets the interval between renewals of the lease.
func (r *Runner) SetRenewal(d time.Duration) { r.holder.(*leaseHolder).renewInterval = d }

// Loaded returns how many deliveries of a flow are in memory, and whether they will be read again.
func (r *Runner) Loaded(key store.Flow) (n int, invalidated bool) {
	done := make(chan struct{})
	r.deliverer.call(func() {
		if f := r.deliverer.queue.flows[key]; f != nil {
			n, invalidated = len(f.loaded), f.invalidatedAt.After(f.loadedAt)
		}
		close(done)
	})
	<-done
	return n, invalidated
}

// Breakers returns the number of open breakers in memory, and how many are of lanes that this process does not
// hold.
func (r *Runner) Breakers() (n, notHeld int) {
	done := make(chan struct{})
	r.deliverer.call(func() {
		for name, origin := range r.deliverer.origins.all {
			if !origin.openUntil.IsZero() {
				n++
				if !r.deliverer.heldLanes[r.jobs.laneOf(name)] {
					notHeld++
				}
			}
		}
		close(done)
	})
	<-done
	return n, notHeld
}

// EndLease makes the lease expire without firing its timer, as in a process that was frozen.
func (r *Runner) EndLease() {
	r.deliverer.leaseEnd.Store(new(time.Now().Add(-time.Nanosecond)))
}

// SetClock sets the clock of a Runner on SQLite. Call it before Run.
func (r *Runner) SetClock(now func() time.Time) {
	r.deliverer.now, r.deliverer.databaseNow = now, now
}
