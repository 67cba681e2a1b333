package deliver

import (
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

const (
	// maxFetches bounds the concurrent reads of the store. Each reads up to maxFlowsPerFetch flows.
	maxFetches       = 2
	maxFlowsPerFetch = 64
	// maxLoaded bounds the deliveries of one flow in memory, and maxAllLoaded those of all flows, except for minLoaded
	// of each: what is not sent within maxLoadedAge is read in vain.
	maxLoaded    = 64
	minLoaded    = 8
	maxAllLoaded = 1024
	// maxLoadedAge is how long deliveries in memory are used. After that they are read again, because
	// another process may have replayed earlier events, and a notification of a deletion may be lost.
	maxLoadedAge = time.Second
)

// fetch starts reads of the flows in fetchQueue, as far as maxFetches allows.
func (d *Deliverer) fetch() {
	for len(d.fetchQueue) > 0 && d.activeFetches < maxFetches {
		n := min(len(d.fetchQueue), maxFlowsPerFetch)
		flows := d.fetchQueue[:n:n]
		d.fetchQueue = d.fetchQueue[n:]
		queries, limit := make([]store.DeliveryQuery, n), d.loadLimit()
		for i, f := range flows {
			// The read returns the running deliveries, too.
			queries[i] = store.DeliveryQuery{Flow: f.Flow, Limit: len(f.running) + limit}
		}
		d.activeFetches++
		began := d.now()
		d.background.Go(func() {
			all, err := d.Store.Deliveries(d.stop, queries)
			d.faults.Error(d.stop, deliverWork, err)
			d.call(func() {
				d.activeFetches--
				for i, f := range flows {
					f.loadedAt = began
					d.handleFetched(f, queries[i].Limit, all[i], err)
				}
			})
		})
	}
}

// loadLimit returns how many deliveries of a flow a read may load.
func (d *Deliverer) loadLimit() int {
	share := min(max(maxAllLoaded/max(len(d.queue.flows), 1), minLoaded), maxLoaded)
	return min(2*d.InFlight, share)
}

// handleFetched adds the deliveries that a read returned to the flow. limit is the limit of the read.
func (d *Deliverer) handleFetched(f *flow, limit int, deliveries []store.Delivery, err error) {
	f.fetching = false
	now := d.now()
	switch {
	case !d.heldLanes[f.lane]:
		d.discard(f)
		return
	case err != nil:
		f.fetchBy(now.Add(errorPause))
	case len(deliveries) == limit && !deliveries[limit-1].DueAt.After(d.databaseNow()):
		f.fetchBy(now) // there may be more
	}
	due := d.databaseNow()
	for _, next := range deliveries {
		running, runs := f.running[next.Event.SubjectID]
		ended, hasEnded := f.endedDuringFetch[next.Event.SubjectID]
		switch {
		// The running attempt returns when the next event is due. A different event here means that
		// one was added after the attempt was recorded.
		case runs:
			running.followed = running.followed || running.eventID != next.Event.ID
			f.running[next.Event.SubjectID] = running
		case hasEnded:
			if ended.eventID != next.Event.ID {
				f.fetchBy(now)
			}
		case next.DueAt.After(due):
			f.fetchBy(d.localTime(next.DueAt))
		default:
			f.loaded = append(f.loaded, next)
		}
	}
	f.endedDuringFetch = nil
	d.reschedule(f)
}
