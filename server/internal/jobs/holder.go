package jobs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

const (
	// defaultPoll is how often SQLite is asked whether another process has changed it.
	defaultPoll = 500 * time.Millisecond
	// clockTolerance is by how much the clock may be set without anybody noticing.
	clockTolerance = time.Second

	renewInterval = 750 * time.Millisecond
	renewTimeout  = 2 * time.Second
	// useOfLease is how long attempts are made after the last renewal: they have ended when the lease
	// does, even if this clock is slower than the other one.
	useOfLease = store.Lease - time.Second
)

// soleHolder holds all lanes: on SQLite, a process has the database to itself.
type soleHolder struct {
	poll time.Duration
}

func newSoleHolder() *soleHolder { return &soleHolder{poll: defaultPoll} }

func (h *soleHolder) run(stop context.Context, d *deliverer) {
	d.call(func() { d.hold("", nil, []int{0}) })
	looked := d.now()
	wall, began := d.jobs.Now().Round(0), time.Now()
	for {
		pause(stop, h.poll)
		if stop.Err() != nil {
			return
		}
		passed := time.Since(began)
		if back := wall.Add(passed).Sub(d.jobs.Now().Round(0)); back > clockTolerance {
			h.setBack(stop, d, back)
		}
		wall, began = d.jobs.Now().Round(0), time.Now()
		changed, err := d.jobs.Store.ChangedElsewhere(stop)
		d.jobs.report(stop, store.Deliver, err)
		if now := d.now(); changed || now.Sub(looked) >= d.jobs.safetyNet {
			looked = now
			d.call(d.scanAll)
		}
	}
}

// setBack follows a clock that was set back: what waits for its next attempt waits no longer for that.
// After one that was set forward it is due early, which the limits of its receiver make good.
func (h *soleHolder) setBack(stop context.Context, d *deliverer, by time.Duration) {
	d.jobs.Logger.WarnContext(stop, "the clock was set back", "by", by)
	d.jobs.report(stop, store.Deliver, d.jobs.Store.ShiftDue(stop, -by))
	d.call(d.scanAll)
}

func (h *soleHolder) leave(context.Context) {}

func (h *soleHolder) announce(context.Context, []store.Line) {}

func (h *soleHolder) announceDeleted(context.Context, []store.Line) {}

// laneHolder holds a share of the lanes, on PostgreSQL.
type laneHolder struct {
	jobs     *Jobs
	holder   *store.Holder
	interval time.Duration // of renewals
	use      time.Duration // of the lease after one
	draining []int
	lanes    int
	deaf     bool          // to what others announce
	released chan struct{} // receives when another holder has given lanes away

	mu     sync.Mutex
	base   time.Time // of the database
	baseAt time.Time // when it was that
}

func newLaneHolder(jobs *Jobs, d *deliverer) *laneHolder {
	h := &laneHolder{jobs: jobs, interval: renewInterval, use: useOfLease, released: make(chan struct{}, 1)}
	d.databaseNow = h.now
	return h
}

// now is the time by the clock of the database.
func (h *laneHolder) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.base.Add(time.Since(h.baseAt))
}

func (h *laneHolder) run(stop context.Context, d *deliverer) {
	var listening sync.WaitGroup
	defer listening.Wait()
	if !h.deaf {
		listening.Go(func() { h.listen(stop, d) })
	}
	first := true
	h.holder = h.jobs.Store.NewHolder()
	// Who could not renew stops by its own clock, before anybody takes over.
	expiry := time.AfterFunc(time.Hour, func() {
		h.jobs.Logger.WarnContext(stop, "the lease has run out")
		d.call(d.dropAll)
	})
	defer expiry.Stop()
	expiry.Stop()
	swept := time.Now()
	for stop.Err() == nil {
		began := time.Now()
		limited, cancel := context.WithTimeout(stop, renewTimeout)
		holding, err := h.holder.Renew(limited, first)
		cancel()
		switch {
		case errors.Is(err, store.ErrSetBack):
			by, err := h.jobs.Store.FollowClock(stop)
			h.jobs.report(stop, "lease", err)
			if by > 0 {
				h.jobs.Logger.WarnContext(stop, "the clock of the database was set back", "by", by)
			}
			if err == nil {
				continue // with a new holder, as all
			}
		case errors.Is(err, store.ErrNotHeld):
			h.jobs.Logger.WarnContext(stop, "another daemon has taken over")
			d.call(d.dropAll)
			h.jobs.report(stop, "lease", h.holder.Close(stop))
			h.holder, h.draining, first = h.jobs.Store.NewHolder(), nil, true
			continue
		case err != nil:
			h.jobs.report(stop, "lease", err)
		case time.Since(began) > h.use: // this process was frozen
		default:
			expiry.Reset(h.use - time.Since(began))
			h.setClock(holding.Now, began)
			first = false
			h.follow(stop, d, holding, began.Add(h.use))
			if holding.Gone > 0 || time.Since(swept) > h.jobs.safetyNet {
				swept = time.Now() // one that has gone may have announced less than it made due
				d.call(d.scanAll)
			}
		}
		select {
		case <-stop.Done():
		case <-h.released:
		case <-time.After(h.interval):
		}
	}
}

// renewAtOnce is called when lanes may be had.
func (h *laneHolder) renewAtOnce() {
	select {
	case h.released <- struct{}{}:
	default:
	}
}

// setClock learns the time of the database, which was now between began and this moment.
func (h *laneHolder) setClock(now, began time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.base, h.baseAt = now, began.Add(time.Since(began)/2)
}

// follow delivers for the lanes that are held, and gives away what is more than a fair share, once
// nothing is at work in it.
func (h *laneHolder) follow(stop context.Context, d *deliverer, holding store.Holding, leaseEnd time.Time) {
	if len(holding.Lanes) != h.lanes {
		h.lanes = len(holding.Lanes)
		h.jobs.Logger.InfoContext(stop, "holding lanes", "lanes", h.lanes)
	}
	id, idle := h.holder.ID, make(chan []int, 1)
	d.call(func() {
		draining := h.drain(holding)
		if len(draining) > 0 {
			d.drop(draining)
		}
		d.hold(id, &leaseEnd, without(holding.Lanes, draining))
		idle <- d.idle(draining)
	})
	select {
	case <-d.ended:
	case lanes := <-idle:
		if len(lanes) == 0 {
			return
		}
		limited, cancel := context.WithTimeout(stop, renewTimeout)
		defer cancel()
		h.jobs.report(stop, "lease", h.holder.Release(limited, lanes))
	}
}

// drain returns the lanes that are given away. It does not look at what is at work in them: a share of
// every receiver's lanes goes, or a daemon that joins would get those without work.
func (h *laneHolder) drain(holding store.Holding) []int {
	h.draining = slices.DeleteFunc(h.draining, func(lane int) bool { return !slices.Contains(holding.Lanes, lane) })
	if surplus := len(holding.Lanes) - len(h.draining) - holding.Fair; surplus > 0 {
		h.draining = append(h.draining, without(holding.Lanes, h.draining)[:surplus]...)
	}
	return h.draining
}

func without(lanes, others []int) []int {
	return slices.DeleteFunc(slices.Clone(lanes), func(lane int) bool { return slices.Contains(others, lane) })
}

// listen looks at the lines of which other processes say that events have become due.
func (h *laneHolder) listen(stop context.Context, d *deliverer) {
	for stop.Err() == nil {
		err := h.jobs.Store.Listen(stop, store.Heard{
			Ready:    func() { d.call(d.scanAll) },
			Due:      func(line store.Line) { d.call(func() { d.wake([]store.Line{line}) }) },
			Deleted:  func(line store.Line) { d.call(func() { d.readAgain([]store.Line{line}) }) },
			Released: h.renewAtOnce,
		})
		h.jobs.report(stop, "listen", err)
		pause(stop, errorPause)
	}
}

func (h *laneHolder) leave(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	h.jobs.report(ctx, "lease", h.holder.Leave(limited))
}

func (h *laneHolder) announce(ctx context.Context, lines []store.Line) {
	h.jobs.report(ctx, "announce", h.jobs.Store.Announce(ctx, lines))
}

func (h *laneHolder) announceDeleted(ctx context.Context, lines []store.Line) {
	h.jobs.report(ctx, "announce", h.jobs.Store.AnnounceDeleted(ctx, lines))
}
