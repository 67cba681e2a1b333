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
// cancels them, and their events are then due again, on PostgreSQL within 20 seconds. Run must be called once.
func (d *Deliverer) Run(ctx, stop context.Context) {
	var background sync.WaitGroup
	background.Go(func() { d.replay(stop) })
	background.Go(func() { d.alert(stop) })
	// The process has its lease until no attempt is running.
	holdContext, release := context.WithCancel(context.WithoutCancel(ctx))
	var holding sync.WaitGroup
	holding.Go(func() { d.lanes.Run(stop, holdContext, d) })
	holding.Go(func() { d.watch(holdContext) })
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
		ready := func() {
			d.Scan()
			d.OnRenderDue()
		}
		d.faults.Error(stop, "listen", d.Store.Listen(stop, ready, func(kind store.SignalKind, flow store.Flow) {
			switch kind {
			case store.SignalDue, store.SignalDeleted:
				d.call(func() { d.changed(kind, flow) })
			case store.SignalRender:
				d.OnRenderDue()
			case store.SignalReplay, store.SignalTask: // not to other processes
			}
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
		case <-d.Store.Signal(store.SignalDue):
		}
		for _, kind := range []store.SignalKind{store.SignalDeleted, store.SignalDue} {
			if flows := d.Store.TakeFlows(kind); len(flows) > 0 {
				d.call(func() { d.announce(kind, d.changed(kind, flows...)...) })
			}
		}
	}
}

// announce notifies the other processes of flows that they hold.
func (d *Deliverer) announce(kind store.SignalKind, notHeld ...store.Flow) {
	if len(notHeld) > 0 {
		d.background.Go(func() { d.faults.Error(d.ctx, "announce", d.Store.Notify(d.ctx, kind, notHeld...)) })
	}
}
