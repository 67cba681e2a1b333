package jobs

import (
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// SetSafetyNet changes how often a look is taken for nothing.
func (t *Trigger) SetSafetyNet(d time.Duration) {
	t.jobs.safetyNet = d
	if h, ok := t.holder.(*soleHolder); ok {
		h.poll = d
	}
}

// SetAlone makes a Trigger on PostgreSQL work with nothing that waits for the network, so that it can
// be in a bubble: nobody else is on the database, and this process's clock is that of the database.
func (t *Trigger) SetAlone() {
	h := t.holder.(*laneHolder)
	h.interval, h.use, h.deaf = 1000*time.Hour, 2000*time.Hour, true
	t.deliverer.databaseNow = t.jobs.Now
	t.renders = newLocalRenders(t.jobs)
}

// SetRenewal changes how often a daemon says that it is alive.
func (t *Trigger) SetRenewal(d time.Duration) { t.holder.(*laneHolder).interval = d }

// Loaded returns how many deliveries of a line are in memory, and whether they will be read again.
func (t *Trigger) Loaded(line store.Line) (n int, again bool) {
	done := make(chan struct{})
	t.deliverer.call(func() {
		if l := t.deliverer.queue.lines[line]; l != nil {
			n, again = len(l.loaded), l.readAfter.After(l.read)
		}
		close(done)
	})
	<-done
	return n, again
}

// EndLease makes the lease have ended, as it has for a process that was frozen and knows nothing of it.
func (t *Trigger) EndLease() {
	t.deliverer.leaseEnd.Store(new(time.Now().Add(-time.Nanosecond)))
}

// SetClock makes a Trigger that does not run yet, on SQLite, tell the time by now.
func (t *Trigger) SetClock(now func() time.Time) {
	t.deliverer.now, t.deliverer.databaseNow = now, now
}
