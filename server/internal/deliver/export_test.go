package deliver

import (
	"maps"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/deliver/lanes"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// SetPollInterval sets how often a Deliverer on SQLite looks for writes of other processes.
func (d *Deliverer) SetPollInterval(interval time.Duration) {
	d.laneConfig.PollInterval = interval
	d.makeLanes()
}

// SetSoleProcess makes a Deliverer on PostgreSQL run in a synctest bubble: nothing waits for the network, no
// other process uses the database, and the clock of this process stands in for that of the database.
func (d *Deliverer) SetSoleProcess() {
	d.laneConfig.RenewInterval, d.laneConfig.UsableLease, d.deaf = 1000*time.Hour, 2000*time.Hour, true
	d.makeLanes()
	d.databaseNow = d.Now
}

// SetRenewal sets the interval between renewals of the lease, and how long it is used, 0 for the default.
func (d *Deliverer) SetRenewal(interval, usable time.Duration) {
	d.laneConfig.RenewInterval, d.laneConfig.UsableLease = interval, usable
	d.makeLanes()
}

// Loaded returns how many deliveries of a flow are in memory, and whether they will be read again.
func (d *Deliverer) Loaded(key store.Flow) (n int, invalidated bool) {
	done := make(chan struct{})
	d.call(func() {
		if f := d.queue.flows[key]; f != nil {
			n, invalidated = len(f.loaded), f.invalidatedAt.After(f.loadedAt)
		}
		close(done)
	})
	<-done
	return n, invalidated
}

// Retake makes a Deliverer lose its lanes and take them again while it reads a flow. It calls meanwhile after the read.
func (d *Deliverer) Retake(key store.Flow, meanwhile func()) {
	done := make(chan struct{})
	d.call(func() {
		defer close(done)
		d.scheduleFetch(key, d.now())
		d.startDue()
		for len(d.calls) == 0 {
			time.Sleep(time.Millisecond)
		}
		meanwhile()
		held := slices.Collect(maps.Keys(d.heldLanes))
		d.dropAllLanes()
		d.holdLanes(lanes.Holding{Lanes: held})
	})
	<-done
}

// EndLease makes the lease expire without firing its timer, as in a process that was frozen.
func (d *Deliverer) EndLease() {
	d.leaseEnd.Store(new(time.Now().Add(-time.Nanosecond)))
}

// SetClock sets the clock of a Deliverer on SQLite. Call it before Run.
func (d *Deliverer) SetClock(now func() time.Time) {
	d.now, d.databaseNow = now, now
}
