package lanes

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// all is the lanes of the only process, on SQLite. It tells the deliverer of writes of other processes, which commands
// are.
type all struct{ Config }

func (l *all) Run(_, stop context.Context, d Deliverer) {
	d.Hold(Holding{Lanes: everyLane()})
	lastScan := time.Now()
	wall, began := l.Now().Round(0), time.Now()
	for {
		studio.Pause(stop, l.PollInterval)
		if stop.Err() != nil {
			return
		}
		now, at := l.Now().Round(0), time.Now() // read once: a change between two readings would be missed
		if setBackBy := wall.Add(at.Sub(began)).Sub(now); setBackBy > clockTolerance {
			l.clockSetBack(stop, setBackBy)
		}
		wall, began = now, at
		changed, err := l.Store.ChangedElsewhere(stop)
		l.OnError(stop, err)
		if changed || time.Since(lastScan) >= l.RescanInterval {
			lastScan = time.Now()
			d.Scan()
		}
	}
}

// clockSetBack moves all due times back after the clock was set back, so that no retry is late. After the
// clock was set forward nothing is moved: retries are early then, and the limits of the origins still hold.
func (l *all) clockSetBack(stop context.Context, by time.Duration) {
	l.Logger.WarnContext(stop, "the clock was set back", "by", by)
	l.OnError(stop, l.Store.ShiftDue(stop, -by))
}

func (l *all) Release(context.Context) {}

func (l *all) Now() time.Time { return l.Config.Now() }

func (l *all) Valid() bool { return true }

func everyLane() []int {
	lanes := make([]int, store.Lanes)
	for i := range lanes {
		lanes[i] = i
	}
	return lanes
}
