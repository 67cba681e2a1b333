package jobs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// defaultPollInterval is how often soleHolder checks whether another process has written to the database.
	defaultPollInterval = 500 * time.Millisecond
	// clockTolerance is the largest correction of the clock that is ignored.
	clockTolerance = time.Second

	defaultRenewInterval = 750 * time.Millisecond
	renewTimeout         = 2 * time.Second
	// defaultUsableLease is how long after a renewal attempts may run. It is shorter than the lease, so that
	// they have ended when the lease expires, even if this clock is slower than that of the database.
	defaultUsableLease = store.Lease - time.Second
)

// soleHolder is the laneHolder on SQLite. One process owns the database, so it holds the only lane.
type soleHolder struct {
	pollInterval time.Duration
}

func newSoleHolder() *soleHolder { return &soleHolder{pollInterval: defaultPollInterval} }

func (h *soleHolder) run(stop context.Context, d *deliverer) {
	d.call(func() { d.holdLanes("", nil, []int{0}) })
	lastScan := d.now()
	wall, began := d.jobs.Now().Round(0), time.Now()
	for {
		studio.Pause(stop, h.pollInterval)
		if stop.Err() != nil {
			return
		}
		elapsed := time.Since(began)
		if setBackBy := wall.Add(elapsed).Sub(d.jobs.Now().Round(0)); setBackBy > clockTolerance {
			h.clockSetBack(stop, d, setBackBy)
		}
		wall, began = d.jobs.Now().Round(0), time.Now()
		changed, err := d.jobs.Store.ChangedElsewhere(stop)
		d.jobs.report(stop, deliverWork, err)
		if now := d.now(); changed || now.Sub(lastScan) >= d.jobs.rescanInterval {
			lastScan = now
			d.call(d.scanAll)
		}
	}
}

// clockSetBack moves all due times back after the clock was set back, so that no retry is late. After the
// clock was set forward nothing is moved: retries are early then, and the limits of the origins still hold.
func (h *soleHolder) clockSetBack(stop context.Context, d *deliverer, by time.Duration) {
	d.jobs.Logger.WarnContext(stop, "the clock was set back", "by", by)
	d.jobs.report(stop, deliverWork, d.jobs.Store.ShiftDue(stop, -by))
	studio.Signal(d.jobs.tasksDue)
}

func (h *soleHolder) valid() bool { return true }

func (h *soleHolder) releaseAll(context.Context) {}

// leaseHolder is the laneHolder on PostgreSQL. It renews the lease on a fair share of the lanes.
type leaseHolder struct {
	jobs           *Jobs
	renderPool     *renderPool
	lease          *store.LeaseHolder
	renewInterval  time.Duration // between renewals
	usableLease    time.Duration // after a renewal
	draining       []int         // lanes to be released once they are idle
	laneCount      int
	listenDisabled bool          // set by tests
	renewNow       chan struct{} // receives when another holder has released lanes

	mu             sync.Mutex
	databaseTime   time.Time // of the last renewal, by the clock of the database
	databaseTimeAt time.Time // the same time, by the clock of this process
}

func newLeaseHolder(jobs *Jobs, d *deliverer, pool *renderPool) *leaseHolder {
	h := &leaseHolder{jobs: jobs, renderPool: pool, renewInterval: defaultRenewInterval, usableLease: defaultUsableLease, renewNow: make(chan struct{}, 1)}
	d.databaseNow = h.now
	return h
}

// now returns the time by the clock of the database. It is safe for concurrent use.
func (h *leaseHolder) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.databaseTime.Add(time.Since(h.databaseTimeAt))
}

func (h *leaseHolder) run(stop context.Context, d *deliverer) {
	var listening sync.WaitGroup
	defer listening.Wait()
	if !h.listenDisabled {
		listening.Go(func() {
			h.jobs.listen(stop, store.NotificationHandler{
				Ready: func() {
					d.call(d.scanAll)
					h.renderPool.wake()
				},
				Due:       func(flow store.Flow) { d.call(func() { d.markDue([]store.Flow{flow}) }) },
				Deleted:   func(flow store.Flow) { d.call(func() { d.invalidate([]store.Flow{flow}) }) },
				Released:  func() { studio.Signal(h.renewNow) },
				RenderDue: h.renderPool.wake,
			})
		})
	}
	h.lease = h.jobs.Store.NewLeaseHolder()
	// A process that cannot renew stops by its own clock before another process takes over.
	expiryTimer := time.AfterFunc(time.Hour, func() {
		h.jobs.Logger.WarnContext(stop, "the lease has expired")
		d.call(d.dropAllLanes)
	})
	defer expiryTimer.Stop()
	expiryTimer.Stop()
	lastScan := time.Now()
	for stop.Err() == nil {
		began := time.Now()
		timeoutContext, cancel := context.WithTimeout(stop, renewTimeout)
		holding, err := h.lease.Renew(timeoutContext)
		cancel()
		switch {
		case errors.Is(err, store.ErrClockSetBack):
			by, err := h.jobs.Store.HandleClockSetBack(stop)
			h.jobs.report(stop, "lease", err)
			if by > 0 {
				studio.Signal(h.jobs.tasksDue)
				h.jobs.Logger.WarnContext(stop, "the clock of the database was set back", "by", by)
			}
			if err == nil {
				continue // HandleClockSetBack deleted all holders; the next renewal returns ErrLeaseLost
			}
		case errors.Is(err, store.ErrLeaseLost):
			h.jobs.Logger.WarnContext(stop, "another daemon has taken over")
			d.call(d.dropAllLanes)
			h.jobs.report(stop, "lease", h.lease.Close(stop))
			h.lease, h.draining = h.jobs.Store.NewLeaseHolder(), nil
			continue
		case err != nil:
			h.jobs.report(stop, "lease", err)
			lastScan = time.Time{} // a renewal may have deleted a holder without an answer; see below
		case time.Since(began) > h.usableLease: // this process was frozen
		default:
			expiryTimer.Reset(h.usableLease - time.Since(began))
			h.setClock(holding.Now, began)
			h.applyHolding(stop, d, holding, began.Add(h.usableLease))
			if holding.Expired > 0 || time.Since(lastScan) > h.jobs.rescanInterval {
				lastScan = time.Now() // a holder that died may not have sent all its notifications
				d.call(d.scanAll)
			}
		}
		select {
		case <-stop.Done():
		case <-h.renewNow:
		case <-time.After(h.renewInterval):
		}
	}
}

// setClock sets the clock of the database. The clock showed now at some moment between began and the call.
func (h *leaseHolder) setClock(now, began time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.databaseTime, h.databaseTimeAt = now, began.Add(time.Since(began)/2)
}

// applyHolding sets the lanes of d to those that the process holds. It drains the lanes above the fair
// share and releases those that are idle.
func (h *leaseHolder) applyHolding(stop context.Context, d *deliverer, holding store.Holding, leaseEnd time.Time) {
	if len(holding.Lanes) != h.laneCount {
		h.laneCount = len(holding.Lanes)
		h.jobs.Logger.InfoContext(stop, "holding lanes", "lanes", h.laneCount)
	}
	id, idleLanes := h.lease.ID, make(chan []int, 1)
	d.call(func() {
		draining := h.updateDraining(holding)
		if len(draining) > 0 {
			d.dropLanes(draining)
		}
		d.holdLanes(id, &leaseEnd, without(holding.Lanes, draining))
		idleLanes <- d.idleLanes(draining)
	})
	select {
	case <-d.closed:
	case lanes := <-idleLanes:
		if len(lanes) == 0 {
			return
		}
		timeoutContext, cancel := context.WithTimeout(stop, renewTimeout)
		defer cancel()
		h.jobs.report(stop, "lease", h.lease.Release(timeoutContext, lanes))
	}
}

// updateDraining returns the lanes to be released. It chooses them without regard to their load; otherwise
// a daemon that joins would get only idle lanes.
func (h *leaseHolder) updateDraining(holding store.Holding) []int {
	h.draining = slices.DeleteFunc(h.draining, func(lane int) bool { return !slices.Contains(holding.Lanes, lane) })
	if surplus := len(holding.Lanes) - len(h.draining) - holding.FairShare; surplus > 0 {
		h.draining = append(h.draining, without(holding.Lanes, h.draining)[:surplus]...)
	}
	return h.draining
}

// without returns the lanes that are not in others.
func without(lanes, others []int) []int {
	return slices.DeleteFunc(slices.Clone(lanes), func(lane int) bool { return slices.Contains(others, lane) })
}

// listen passes the notifications of other processes to handler until stop ends. It reconnects after an error.
func (j *Jobs) listen(stop context.Context, handler store.NotificationHandler) {
	for stop.Err() == nil {
		j.report(stop, "listen", j.Store.Listen(stop, handler))
		studio.Pause(stop, errorPause)
	}
}

func (h *leaseHolder) valid() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(h.databaseTimeAt) < h.usableLease
}

func (h *leaseHolder) releaseAll(ctx context.Context) {
	timeoutContext, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	h.jobs.report(ctx, "lease", h.lease.ReleaseAll(timeoutContext))
}
