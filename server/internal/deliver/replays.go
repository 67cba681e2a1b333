package deliver

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// replay works off replays until stop ends. After each batch it pauses for as long as the batch took, unless another
// replay begins, so that other writes have half of the time of the database.
func (d *Deliverer) replay(stop context.Context) {
	for stop.Err() == nil {
		began := time.Now()
		next, err := d.Store.ReplayNext(stop, d.Now())
		wait := d.RescanInterval / 6 // for replays of commands, and of processes that died
		switch {
		case err != nil:
			d.faults.Error(stop, "replay", err)
			wait = errorPause
		case !next.IsZero():
			wait = min(wait, max(next.Sub(d.Now()), time.Since(began)))
		}
		studio.Await(stop, d.Store.Signal(store.SignalReplay), wait)
	}
}
