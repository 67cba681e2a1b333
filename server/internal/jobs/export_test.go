package jobs

import "time"

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
