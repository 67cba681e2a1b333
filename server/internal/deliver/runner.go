package deliver

import (
	"context"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// errorPause is the pause before work is repeated after an error of the database.
	errorPause = time.Second

	deliverWork = "deliver" // for faultlog
)

// HoldsLease reports whether this process has a valid lease, which deliveries need. On SQLite it always has. It is
// safe for concurrent use.
func (d *Deliverer) HoldsLease() bool { return d.lanes.Valid() }

// Run delivers events until stop ends, and then waits for the attempts that run. They run under ctx: ending ctx
// cancels them, and their events are then due again. Run must be called once.
func (d *Deliverer) Run(ctx, stop context.Context) {
	var background sync.WaitGroup
	background.Go(func() { d.replay(stop) })
	background.Go(func() { d.alert(stop) })
	background.Go(func() { d.watch(stop) })
	// The process holds its lanes until no attempt is running.
	holdContext, release := context.WithCancel(context.WithoutCancel(ctx))
	var holding sync.WaitGroup
	holding.Go(func() { d.lanes.Run(holdContext, d) })
	holding.Go(func() { d.saveEndpoints(ctx, holdContext) })
	if !d.deaf {
		holding.Go(func() { d.listen(holdContext) })
	}
	d.loop(ctx, stop)
	release()
	holding.Wait()
	d.lanes.Release(context.WithoutCancel(ctx))
	background.Wait()
}

// listen handles the notifications of other processes until stop ends. It reconnects after an error.
func (d *Deliverer) listen(stop context.Context) {
	for stop.Err() == nil {
		d.faults.Error(stop, "listen", d.Store.Listen(stop, store.NotificationHandler{
			Ready: func() {
				d.Scan()
				d.OnRenderDue()
			},
			Due:       func(flow store.Flow) { d.call(func() { d.markDue([]store.Flow{flow}) }) },
			Deleted:   func(flow store.Flow) { d.call(func() { d.invalidate([]store.Flow{flow}) }) },
			Released:  d.lanes.Wake,
			RenderDue: d.OnRenderDue,
		}))
		studio.Pause(stop, errorPause)
	}
}

// watch takes the changes of this process from the store, and notifies the other processes.
func (d *Deliverer) watch(stop context.Context) {
	for {
		select {
		case <-stop.Done():
			return
		case <-d.Store.Due():
		}
		d.pass(stop, d.Store.TakeDeleted(), d.invalidate, d.Store.NotifyDeleted)
		d.pass(stop, d.Store.TakeDue(), d.markDue, d.Store.NotifyDue)
	}
}

// pass calls apply with flows in the event loop, and notify with those that other processes hold.
func (d *Deliverer) pass(
	stop context.Context, flows []store.Flow, apply func([]store.Flow) (notHeld []store.Flow), notify func(context.Context, []store.Flow) error,
) {
	if len(flows) == 0 {
		return
	}
	d.call(func() {
		if notHeld := apply(flows); len(notHeld) > 0 {
			d.background.Go(func() { d.faults.Error(stop, "announce", notify(stop, notHeld)) })
		}
	})
}
