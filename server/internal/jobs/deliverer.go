package jobs

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// deliverer delivers the events of the lanes that this process holds. One goroutine, that of run,
// owns the queue and the limits; others read the store, make attempts and record them, and tell it
// by call.
type deliverer struct {
	jobs  *Jobs
	calls chan func()
	ended chan struct{}    // closed when calls are not taken any more
	now   func() time.Time // of this process, which is never set
	// databaseNow is the time by which the store's times are due.
	databaseNow func() time.Time

	queue    *queue
	origins  *origins
	held     map[int]bool    // lanes
	lease    context.Context //nolint:containedctx // of the attempts; ended when the lanes are lost
	lose     context.CancelFunc
	leaseEnd atomic.Pointer[time.Time] // by the clock of this process; nil when the lease has no end
	holder   string                    // that records are kept for
	atWork   [classes]int              // by class
	wanted   []*line
	fetching int
	misses   map[store.Line]int // fetches that found nothing after a scan
	dropped  int                // how often lanes were; what was fetched before may be out of date

	ctx, stop context.Context //nolint:containedctx // those of run
	attempts  sync.WaitGroup
	others    sync.WaitGroup // that only run adds to
}

func newDeliverer(jobs *Jobs) *deliverer {
	return &deliverer{
		jobs: jobs, calls: make(chan func(), 1024), ended: make(chan struct{}), now: time.Now, databaseNow: jobs.Now,
		queue: newQueue(), origins: newOrigins(jobs.Config), held: make(map[int]bool),
		misses: make(map[store.Line]int),
	}
}

// run delivers until stop ends, and then waits for what is at work, which ending ctx cuts off.
func (d *deliverer) run(ctx, stop context.Context) {
	d.ctx, d.stop = ctx, stop
	d.lease, d.lose = context.WithCancel(ctx)
	defer func() { d.lose() }()
	defer d.others.Wait()
	defer close(d.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	stopping, idle := stop.Done(), make(chan struct{})
	for {
		select {
		case <-stopping:
			stopping = nil
			go func() {
				d.attempts.Wait()
				close(idle)
			}()
		case <-idle:
			return
		case f := <-d.calls:
			f()
			for more := true; more; { // before anything is started for each
				select {
				case f := <-d.calls:
					f()
				default:
					more = false
				}
			}
		case <-timer.C:
		}
		if stop.Err() == nil {
			timer.Reset(d.start()) //nolint:contextcheck // attempts are made under the lease
		}
	}
}

// call makes run call f, unless it has ended.
func (d *deliverer) call(f func()) {
	select {
	case d.calls <- f:
	case <-d.ended:
	}
}

// hold begins to deliver for lanes, in the name of a holder whose lease ends at a time, or never when end is nil.
func (d *deliverer) hold(holder string, end *time.Time, lanes []int) {
	d.holder = holder
	d.leaseEnd.Store(end)
	if d.lease.Err() != nil {
		d.lease, d.lose = context.WithCancel(d.ctx)
	}
	var added []int
	for _, lane := range lanes {
		if !d.held[lane] {
			d.held[lane] = true
			added = append(added, lane)
		}
	}
	if len(added) > 0 {
		d.scan(added)
	}
}

// drop begins nothing more for lanes.
func (d *deliverer) drop(lanes []int) {
	d.dropped++
	for _, lane := range lanes {
		delete(d.held, lane)
	}
	for _, l := range d.queue.lines {
		if !d.held[l.lane] {
			d.clear(l)
		}
	}
}

// dropAll ends the attempts, too, because somebody else may make them from now on.
func (d *deliverer) dropAll() {
	d.lose()
	d.leaseEnd.Store(nil)
	clear(d.held)
	d.drop(nil)
}

// lapsed reports whether the lease has ended, although nothing has said so yet: a process that was frozen
// may see the answers to its attempts before it sees its timers.
func (d *deliverer) lapsed() bool {
	end := d.leaseEnd.Load()
	return end != nil && d.now().After(*end)
}

// idle returns those of some lanes for which nothing is at work.
func (d *deliverer) idle(lanes []int) (idle []int) {
	busy := make(map[int]bool)
	for _, l := range d.queue.lines {
		busy[l.lane] = busy[l.lane] || len(l.running) > 0
	}
	for _, lane := range lanes {
		if !busy[lane] {
			idle = append(idle, lane)
		}
	}
	return idle
}
