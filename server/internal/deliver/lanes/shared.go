package lanes

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// shared is the lanes of one of several processes, on PostgreSQL. It renews the lease on a fair share of them.
type shared struct {
	Config

	lease     *store.LeaseHolder
	laneCount int

	mu             sync.Mutex
	databaseTime   time.Time // of the last renewal, by the clock of the database
	databaseTimeAt time.Time // the same time, by the clock of this process
}

func (l *shared) Run(leaving, stop context.Context, d Deliverer) {
	l.lease = l.Store.NewLeaseHolder()
	// A process that cannot renew stops by its own clock before another process takes over.
	expiryTimer := time.AfterFunc(time.Hour, func() {
		l.Logger.WarnContext(stop, "the lease has expired")
		d.Drop()
	})
	defer expiryTimer.Stop()
	expiryTimer.Stop()
	lastScan, others, left := time.Now(), []string(nil), leaving.Done()
	for stop.Err() == nil {
		began := time.Now()
		timeoutContext, cancel := context.WithTimeout(stop, renewTimeout)
		holding, err := l.lease.Renew(timeoutContext, leaving.Err() != nil)
		cancel()
		switch {
		case errors.Is(err, store.ErrClockSetBack):
			by, err := l.Store.HandleClockSetBack(stop)
			l.OnError(stop, err)
			if by > 0 {
				l.Logger.WarnContext(stop, "the clock of the database was set back", "by", by)
			}
			if err == nil {
				continue // HandleClockSetBack deleted all holders; the next renewal returns ErrLeaseLost
			}
		case errors.Is(err, store.ErrLeaseLost):
			l.Logger.WarnContext(stop, "another daemon has taken over")
			d.Drop()
			l.OnError(stop, l.lease.Close(stop))
			l.lease = l.Store.NewLeaseHolder()
			continue
		case err != nil:
			l.OnError(stop, err)
		case time.Since(began) > l.UsableLease: // this process was frozen
		default:
			expiryTimer.Reset(l.UsableLease - time.Since(began))
			l.setClock(holding.Now, began)
			l.hold(stop, d, holding, began.Add(l.UsableLease))
			gone := func(id string) bool { return !slices.Contains(holding.Others, id) }
			if slices.ContainsFunc(others, gone) || time.Since(lastScan) > l.RescanInterval {
				lastScan = time.Now() // a holder that has gone may not have sent all its notifications
				d.Scan()
			}
			others = holding.Others
		}
		select {
		case <-stop.Done():
		case <-left:
			left = nil
		case <-time.After(l.RenewInterval):
		}
	}
}

// setClock sets the clock of the database. The clock showed now at some moment between began and the call.
func (l *shared) setClock(now, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.databaseTime, l.databaseTimeAt = now, began.Add(time.Since(began)/2)
}

func (l *shared) Now() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.databaseTime.Add(time.Since(l.databaseTimeAt))
}

func (l *shared) Valid() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.databaseTimeAt) < l.UsableLease
}

// hold makes d deliver for the lanes that the process holds. It releases those above the fair share. It chooses them
// without regard to their load; otherwise a daemon that joins would get only idle lanes.
func (l *shared) hold(stop context.Context, d Deliverer, holding store.Holding, until time.Time) {
	if len(holding.Lanes) != l.laneCount {
		l.laneCount = len(holding.Lanes)
		l.Logger.InfoContext(stop, "holding lanes", "lanes", l.laneCount)
	}
	share := min(holding.FairShare, len(holding.Lanes))
	released := holding.Lanes[share:]
	running := d.Hold(Holding{Token: l.lease.ID, Until: until, Lanes: holding.Lanes[:share], Released: released})
	if len(released) == 0 {
		return
	}
	timeoutContext, cancel := context.WithTimeout(stop, renewTimeout)
	defer cancel()
	l.OnError(stop, l.lease.Release(timeoutContext, released, running))
}

func (l *shared) Release(ctx context.Context) {
	timeoutContext, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	l.OnError(ctx, l.lease.ReleaseAll(timeoutContext))
}
