package jobs

import (
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// SetRescanInterval sets how often due work is looked for without a notification.
func (t *Trigger) SetRescanInterval(d time.Duration) {
	t.jobs.rescanInterval, t.renderPool.pollInterval = d, d
	if h, ok := t.holder.(*soleHolder); ok {
		h.pollInterval = d
	}
}

// SetPollInterval sets how often due renderings are looked for without a notification.
func (w *Worker) SetPollInterval(d time.Duration) { w.renderPool.pollInterval = d }

// SetSoleProcess makes a Trigger on PostgreSQL run in a synctest bubble: nothing waits for the network, no
// other process uses the database, and the clock of this process stands in for that of the database.
func (t *Trigger) SetSoleProcess() {
	h := t.holder.(*leaseHolder)
	h.renewInterval, h.usableLease, h.listenDisabled = 1000*time.Hour, 2000*time.Hour, true
	t.deliverer.databaseNow = t.jobs.Now
	t.renderPool.announce = nil
}

// SetRenewal sets the interval between renewals of the lease.
func (t *Trigger) SetRenewal(d time.Duration) { t.holder.(*leaseHolder).renewInterval = d }

// Loaded returns how many deliveries of a flow are in memory, and whether they will be read again.
func (t *Trigger) Loaded(key store.Flow) (n int, invalidated bool) {
	done := make(chan struct{})
	t.deliverer.call(func() {
		if f := t.deliverer.queue.flows[key]; f != nil {
			n, invalidated = len(f.loaded), f.invalidatedAt.After(f.loadedAt)
		}
		close(done)
	})
	<-done
	return n, invalidated
}

// Breakers returns the number of open breakers in memory, and how many are of lanes that this process does not
// hold.
func (t *Trigger) Breakers() (n, notHeld int) {
	done := make(chan struct{})
	t.deliverer.call(func() {
		for name, origin := range t.deliverer.origins.all {
			if !origin.openUntil.IsZero() {
				n++
				if !t.deliverer.heldLanes[t.jobs.laneOf(name)] {
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
func (t *Trigger) EndLease() {
	t.deliverer.leaseEnd.Store(new(time.Now().Add(-time.Nanosecond)))
}

// SetClock sets the clock of a Trigger on SQLite. Call it before Run.
func (t *Trigger) SetClock(now func() time.Time) {
	t.deliverer.now, t.deliverer.databaseNow = now, now
}
