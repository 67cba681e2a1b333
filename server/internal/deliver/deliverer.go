package deliver

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/deliver/lanes"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/faultlog"
)

// Deliverer delivers the events of the lanes that this process holds. It is an event loop: the goroutine of loop owns
// the queue and the limits. Other goroutines read the store, make attempts and record them. They change the state of
// the loop only through call. Use one per process.
type Deliverer struct {
	Config
	lanes      lanes.Lanes
	laneConfig lanes.Config
	deaf       bool // it gets no notifications; set by tests
	secretsMu  sync.Mutex
	secrets    map[string]cachedSecrets // by user
	faults     faultlog.Log

	calls  chan func()
	closed chan struct{}    // closed when loop accepts no more calls
	now    func() time.Time // the monotonic clock of this process
	// databaseNow returns the time of the clock that decides which rows are due.
	databaseNow func() time.Time

	queue         *queue
	endpoints     *endpoints
	origins       *origins
	heldLanes     map[int]bool
	leaseContext  context.Context //nolint:containedctx // the context of attempts; it ends with the lease
	cancelLease   context.CancelFunc
	leaseEnd      atomic.Pointer[time.Time] // by the clock of this process; nil if the lease never expires
	fence         string                    // the fencing token of records
	busyWorkers   [classes]int              // by class
	fetchQueue    []*flow                   // the flows to be read
	activeFetches int

	ctx, stop  context.Context //nolint:containedctx // the contexts of Run
	attempts   sync.WaitGroup
	background sync.WaitGroup // only the goroutine of loop adds to it
}

// New returns a Deliverer. Open its store with [store.Config].Delivers set.
func New(cfg Config) *Deliverer {
	cfg = cfg.withDefaults()
	d := &Deliverer{
		Config: cfg, faults: faultlog.Log{Logger: cfg.Logger}, calls: make(chan func(), 1024), closed: make(chan struct{}),
		now: time.Now, queue: newQueue(), endpoints: newEndpoints(), origins: newOrigins(cfg), heldLanes: make(map[int]bool),
		secrets: make(map[string]cachedSecrets),
	}
	d.laneConfig = lanes.Config{
		Store: cfg.Store, RescanInterval: cfg.RescanInterval, Logger: cfg.Logger, Now: cfg.Now,
		OnError: func(ctx context.Context, err error) { d.faults.Error(ctx, "lease", err) },
	}
	d.makeLanes()
	return d
}

func (d *Deliverer) makeLanes() {
	d.lanes = lanes.New(d.laneConfig)
	d.databaseNow = d.lanes.Now
}

// loop delivers events until stop ends, and then waits for the running attempts. Ending ctx cancels them.
func (d *Deliverer) loop(ctx, stop context.Context) {
	d.ctx, d.stop = ctx, stop
	d.leaseContext, d.cancelLease = context.WithCancel(ctx)
	defer func() { d.cancelLease() }()
	defer d.background.Wait()
	defer close(d.closed)
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
			for range len(d.calls) { // all waiting calls run before startDue does
				(<-d.calls)()
			}
		case <-timer.C:
		}
		if stop.Err() == nil {
			timer.Reset(d.startDue()) //nolint:contextcheck // attempts are made under the lease
		}
	}
}

// call runs f in the goroutine of loop. It drops f if loop has ended.
func (d *Deliverer) call(f func()) {
	select {
	case d.calls <- f:
	case <-d.closed:
	}
}

// Hold implements [lanes.Deliverer].
func (d *Deliverer) Hold(holding lanes.Holding) (running map[string]string) {
	result := make(chan map[string]string, 1)
	d.call(func() {
		var events map[string]string
		if len(holding.Released) > 0 {
			d.dropLanes(holding.Released)
			events = d.runningIn(holding.Released)
		}
		d.holdLanes(holding)
		result <- events
	})
	select {
	case <-d.closed:
	case running = <-result:
	}
	return running
}

// Drop implements [lanes.Deliverer].
func (d *Deliverer) Drop() { d.call(d.dropAllLanes) }

// Scan implements [lanes.Deliverer].
func (d *Deliverer) Scan() { d.call(d.scanAll) }

// holdLanes starts to deliver the events of the lanes of a holding.
func (d *Deliverer) holdLanes(holding lanes.Holding) {
	d.fence = holding.Token
	d.leaseEnd.Store(nil)
	if !holding.Until.IsZero() {
		d.leaseEnd.Store(&holding.Until)
	}
	if d.leaseContext.Err() != nil {
		d.leaseContext, d.cancelLease = context.WithCancel(d.ctx)
	}
	var added []int
	for _, lane := range holding.Lanes {
		if !d.heldLanes[lane] {
			d.heldLanes[lane] = true
			added = append(added, lane)
		}
	}
	if len(added) > 0 {
		d.origins.closeBreakers(added)
		d.scan(added)
	}
}

// dropLanes starts no more attempts for lanes. Running attempts continue.
func (d *Deliverer) dropLanes(lanes []int) {
	for _, lane := range lanes {
		delete(d.heldLanes, lane)
	}
	for _, f := range d.queue.flows {
		if !d.heldLanes[f.lane] {
			d.discard(f)
		}
	}
}

// dropAllLanes drops every lane and cancels the running attempts, because another process may make them
// from now on.
func (d *Deliverer) dropAllLanes() {
	d.cancelLease()
	d.leaseEnd.Store(nil)
	clear(d.heldLanes)
	d.dropLanes(nil)
}

// leaseExpired reports whether the lease has expired. The timer that drops the lanes may not have fired
// yet: a process that was frozen may receive the responses to its attempts before its timers fire.
func (d *Deliverer) leaseExpired() bool {
	end := d.leaseEnd.Load()
	return end != nil && d.now().After(*end)
}

// runningIn returns the subjects of running attempts for lanes, with the IDs of the events.
func (d *Deliverer) runningIn(lanes []int) map[string]string {
	events := make(map[string]string)
	for _, f := range d.queue.flows {
		for subject, running := range f.running {
			if slices.Contains(lanes, f.lane) {
				events[subject] = running.eventID
			}
		}
	}
	return events
}
