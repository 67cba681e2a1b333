package render

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/faultlog"
)

const (
	// sharedPollInterval is how often a process looks for renderings that no notification announced, such as
	// those of a process that died, and reads the clock of the database. solePollInterval is for the only process.
	sharedPollInterval = 5 * time.Second
	solePollInterval   = 30 * time.Second
	// errorPause is the pause before work is repeated after an error of the database.
	errorPause = time.Second
	// clockMargin is added to the time of the next rendering, because the offset of the clock of the database is known
	// to a few milliseconds only.
	clockMargin = 10 * time.Millisecond
	// minInterval bounds how often a process reads the time of the next rendering, and notifies others of due ones.
	minInterval = 20 * time.Millisecond
)

// DefaultTimeout is the default of [Config].
const DefaultTimeout = 15 * time.Minute

// Config configures a [Pool]. Store, Studio and Renderer are required.
type Config struct {
	Store    *store.Store
	Studio   *studio.Service
	Renderer studio.Renderer
	// Timeout bounds one rendering. A rendering that times out is retried. Default [DefaultTimeout].
	Timeout time.Duration
	// Workers bounds the concurrent renderings of this process. A negative value disables rendering. Default 16.
	Workers int
	// OnRendering is called after each rendering that was not canceled, for metrics. It must be safe for concurrent
	// use. Default: none.
	OnRendering func(studio.Kind, Outcome, time.Duration)
	// Tracer records a span for each rendering, in the trace of the request that created the subject. Default: none.
	Tracer trace.Tracer
	// Logger gets one line for each rendering, and the errors of the database. Default: none.
	Logger *slog.Logger
}

// Pool claims renderings that are due and runs them. Use one per process.
type Pool struct {
	Config
	faults       faultlog.Log
	leases       leases
	slots        chan struct{} // holds one value for each busy worker
	wakeup       chan struct{}
	waiting      atomic.Bool // renderings may be due that were not in the last claim
	claimed      sync.Map    // the subjects that this process renders, by ID
	unsure       bool        // this process may have claimed others: the answer of the database was lost
	shared       bool        // other processes use the database
	dueHere      bool        // this process made renderings due that others do not know
	announced    time.Time   // when other processes were notified of them last
	pollInterval time.Duration
	clockOffset  time.Duration // of the clock of the database, relative to that of this process
	clockRead    time.Time
	nextRead     time.Time // when Store.NextRendering was called last
}

// New returns a Pool.
func New(cfg Config) *Pool {
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	cfg.Workers = cmp.Or(cfg.Workers, 16)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.OnRendering == nil {
		cfg.OnRendering = func(studio.Kind, Outcome, time.Duration) {}
	}
	p := &Pool{
		Config: cfg, faults: faultlog.Log{Logger: cfg.Logger}, pollInterval: solePollInterval,
		slots: make(chan struct{}, max(0, cfg.Workers)), wakeup: make(chan struct{}, 1),
		leases: leases{store: cfg.Store, began: make(chan struct{}, 1), running: make(map[*lease]struct{})},
	}
	if cfg.Store.Shared() {
		p.shared, p.pollInterval = true, sharedPollInterval
	}
	return p
}

// Wake makes Run look for due renderings now. It is safe for concurrent use.
func (p *Pool) Wake() { studio.Signal(p.wakeup) }

// Listen wakes Run after the notifications of other processes until stop ends. It reconnects after an error.
func (p *Pool) Listen(stop context.Context) {
	for stop.Err() == nil {
		p.faults.Error(stop, "listen", p.Store.Listen(stop, p.Wake, func(kind store.SignalKind, _ store.Flow) {
			if kind == store.SignalRender {
				p.Wake()
			}
		}))
		studio.Pause(stop, errorPause)
	}
}

// Run starts renderings until stop ends, and then waits for those that run. Ending ctx cancels them; they are then due
// again. If this process makes renderings due and none of its workers is free, Run notifies the other processes. It
// must be called once.
func (p *Pool) Run(ctx, stop context.Context) {
	leaseContext, endLeases := context.WithCancel(ctx)
	var workers, renewing sync.WaitGroup
	renewing.Go(func() { p.leases.run(leaseContext) })
	defer renewing.Wait()
	defer endLeases()
	defer workers.Wait()
	for stop.Err() == nil {
		timer := time.NewTimer(p.start(ctx, stop, &workers))
		select {
		case <-stop.Done():
		case <-p.Store.Signal(store.SignalRender):
			p.dueHere = true
		case <-p.wakeup:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// announce notifies the other processes of renderings that are due and have no free worker here, at most once every
// minInterval. It returns how long to wait before the next call.
func (p *Pool) announce(stop context.Context) time.Duration {
	if !p.dueHere || !p.shared {
		return p.pollInterval
	}
	if wait := minInterval - time.Since(p.announced); wait > 0 {
		return wait
	}
	p.faults.Error(stop, "announce", p.Store.Notify(stop, store.SignalRender, store.Flow{}))
	p.dueHere, p.announced = false, time.Now()
	return p.pollInterval
}

// start assigns due renderings to free workers. It returns how long to wait before the next call. If some may
// be left over, a worker that ends wakes Run earlier.
func (p *Pool) start(ctx, stop context.Context, workers *sync.WaitGroup) time.Duration {
	for stop.Err() == nil {
		p.waiting.Store(true) // before acquire, so that no worker ends unnoticed
		free, more := p.acquire(), true
		var err error
		if free > 0 {
			more, err = p.claim(ctx, stop, workers, free)
		}
		if err != nil {
			p.faults.Error(stop, renderWork, err)
			return errorPause
		}
		switch {
		case !more:
			p.waiting.Store(false)
			p.dueHere = false
			if wait := minInterval - time.Since(p.nextRead); wait > 0 {
				return wait
			}
			p.nextRead = time.Now()
			next, err := p.Store.NextRendering(stop, p.now())
			if err != nil {
				p.faults.Error(stop, renderWork, err)
				return errorPause
			}
			if !next.IsZero() {
				return min(next.Sub(p.now()), p.pollInterval) + clockMargin
			}
			return p.pollInterval
		case free == 0:
			return p.announce(stop)
		}
	}
	return 0
}

// claim claims renderings for free workers, which acquire has reserved, and starts them. more reports whether others
// may be due.
func (p *Pool) claim(ctx, stop context.Context, workers *sync.WaitGroup, free int) (more bool, err error) {
	var subjects []studio.Subject
	if err = p.releaseUnknown(stop); err == nil {
		err = p.readClock(stop)
	}
	if err == nil {
		subjects, more, err = p.Store.ClaimRenderings(stop, p.Store.ProcessID(), p.now(), free)
		p.unsure = err != nil
	}
	for range free - len(subjects) {
		<-p.slots
	}
	for _, subject := range subjects {
		p.claimed.Store(subject.ID, &subject)
		workers.Go(func() { p.render(ctx, stop, &subject) })
	}
	return more, err
}

// releaseUnknown releases what this process may have claimed without an answer. Otherwise it would wait for the end of
// its lease.
func (p *Pool) releaseUnknown(stop context.Context) error {
	if !p.unsure {
		return nil
	}
	var known []string
	p.claimed.Range(func(id, _ any) bool {
		known = append(known, id.(string))
		return true
	})
	err := p.Store.ReleaseRenderings(stop, p.Store.ProcessID(), known)
	p.unsure = err != nil
	return err
}

// acquire reserves the free workers and returns how many they are.
func (p *Pool) acquire() (free int) {
	for {
		select {
		case p.slots <- struct{}{}:
			free++
		default:
			return free
		}
	}
}

// now returns the time by the clock of the database.
func (p *Pool) now() time.Time { return time.Now().Add(p.clockOffset) }

// readClock reads the clock of a shared database once every pollInterval, and makes due what a wrong clock has delayed.
func (p *Pool) readClock(stop context.Context) (err error) {
	if time.Since(p.clockRead) < p.pollInterval {
		return nil
	}
	if p.shared {
		p.clockOffset, err = p.Store.ClockOffset(stop)
	}
	if err == nil {
		err = p.Store.HastenRenderings(stop, p.now())
	}
	if err == nil {
		p.clockRead = time.Now()
	}
	return err
}
