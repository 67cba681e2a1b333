package deliver

import (
	"maps"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// scan reads all flows of the given lanes that have pending events, and the open circuit breakers. It
// retries after an error.
func (d *Deliverer) scan(lanes []int) {
	if len(lanes) == 0 {
		return
	}
	d.background.Go(func() {
		breakers, err := d.Store.Breakers(d.stop)
		var flows []store.FlowDue
		if err == nil {
			flows, err = d.Store.DueFlows(d.stop, lanes)
		}
		d.faults.Error(d.stop, deliverWork, err)
		if err != nil {
			studio.Pause(d.stop, errorPause)
		}
		d.call(func() {
			if err != nil {
				d.scan(lanes)
				return
			}
			for _, b := range breakers {
				d.origins.restore(b, d.now(), d.databaseNow())
			}
			for _, due := range flows {
				if d.heldLanes[store.Lane(due.Origin)] { // it may have been lost since
					d.scheduleFetch(due.Flow, d.localTime(due.At))
				}
			}
		})
	})
}

// scanAll is scan for all lanes.
func (d *Deliverer) scanAll() { d.scan(slices.Collect(maps.Keys(d.heldLanes))) }

// localTime converts a time of the database clock to the clock of this process.
func (d *Deliverer) localTime(at time.Time) time.Time {
	return d.now().Add(at.Sub(d.databaseNow()))
}

// changed schedules an immediate read of flows of which events have become due, or if subjects were deleted, a read
// before any of the deliveries in memory is sent. It returns the flows that other processes hold.
func (d *Deliverer) changed(kind store.SignalKind, flows ...store.Flow) (notHeld []store.Flow) {
	now := d.now()
	for _, key := range flows {
		if f := d.queue.flows[key]; f != nil && kind == store.SignalDeleted {
			f.invalidatedAt = now
		}
		if held := d.heldLanes[store.Lane(key.Origin)]; !held {
			notHeld = append(notHeld, key)
		} else if kind == store.SignalDue {
			d.scheduleFetch(key, now)
		}
	}
	return notHeld
}

// scheduleFetch schedules a read of a flow of a held lane at the given time or earlier.
func (d *Deliverer) scheduleFetch(key store.Flow, at time.Time) {
	f := d.queue.get(key, store.Lane(key.Origin), d.origins.get)
	f.fetchBy(at)
	d.reschedule(f)
}

// fetchBy schedules a read of a flow at the given time or earlier. If a read is running, another one follows.
func (f *flow) fetchBy(at time.Time) {
	if f.fetchAt.IsZero() || at.Before(f.fetchAt) {
		f.fetchAt = at
	}
}

// reschedule makes a flow ready now, or at its fetchAt time, or removes it from the queue if it is idle. A
// flow that is being read or blocked stays as it is.
func (d *Deliverer) reschedule(f *flow) {
	now := d.now()
	switch {
	case f.fetching || f.blocked:
	case len(f.loaded) > 0 || !f.fetchAt.IsZero() && !f.fetchAt.After(now):
		d.queue.makeReady(f)
	case !f.fetchAt.IsZero():
		d.queue.makeReadyAt(f, f.fetchAt)
	default:
		d.queue.removeIfIdle(f)
	}
}

// discard drops the deliveries of a flow from memory, and those of a read that is running.
func (d *Deliverer) discard(f *flow) {
	f.loaded, f.fetchAt, f.invalidatedAt = nil, time.Time{}, d.now()
	d.queue.removeReady(f)
	d.queue.unschedule(f)
	if f.origin.removeBlocked(f) {
		d.unblockNext(f.origin)
	}
	d.queue.removeIfIdle(f)
}
