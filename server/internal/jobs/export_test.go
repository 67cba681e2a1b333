package jobs

import (
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// SetRescanInterval sets how often due work is looked for without a notification.
func (r *Runner) SetRescanInterval(d time.Duration) {
	r.jobs.rescanInterval, r.renderPool.pollInterval = d, d
	r.laneConfig.RescanInterval, r.laneConfig.PollInterval = d, d
	r.makeLanes()
}

// SetPollInterval sets how often due renderings are looked for without a notification.
func (w *Worker) SetPollInterval(d time.Duration) { w.renderPool.pollInterval = d }

// SetSoleProcess makes a Runner on PostgreSQL run in a synctest bubble: nothing waits for the network, no
// other process uses the database, and the clock of this process stands in for that of the database.
func (r *Runner) SetSoleProcess() {
	r.laneConfig.RenewInterval, r.laneConfig.UsableLease, r.deaf = 1000*time.Hour, 2000*time.Hour, true
	r.makeLanes()
	r.deliverer.databaseNow = r.jobs.Now
	r.renderPool.announce = nil
}

// SetRenewal sets the interval between renewals of the lease.
func (r *Runner) SetRenewal(d time.Duration) {
	r.laneConfig.RenewInterval = d
	r.makeLanes()
}

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
				if !r.deliverer.heldLanes[store.Lane(name)] {
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
