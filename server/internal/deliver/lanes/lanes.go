// Package lanes decides for which origins this process delivers events. A lane is a shard of the origins; see
// [store.Lane]. One process at a time holds a lane, so that one process enforces all limits of an origin.
//
// On SQLite, one process owns the database and holds all lanes. On PostgreSQL, the processes share them: each holds a
// lease, in [store.LeaseHolder], which it renews. Who delivers does not know which of both it is.
package lanes

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// Deliverer delivers the events of lanes. Its methods are called by one goroutine at a time, except for Drop.
type Deliverer interface {
	// Hold makes it deliver for the lanes of a holding, in addition to those of earlier ones, and begin no more
	// attempts for those that it releases. It returns the subjects of running attempts for the latter, with the IDs of
	// the events.
	Hold(Holding) (running map[string]string)
	// Drop makes it end its attempts and deliver for no lane.
	Drop()
	// Scan makes it look for due events in all its lanes, because notifications may have been lost.
	Scan()
}

// Holding is the lanes that a process holds.
type Holding struct {
	Token    string    // the fencing token for [store.Store.SaveAttempt]
	Until    time.Time // when the lease ends, by the clock of this process; zero if it does not end
	Lanes    []int     // to deliver for
	Released []int     // for other processes to take
}

// Config configures [Lanes]. Everything but PollInterval, RenewInterval and UsableLease is required.
type Config struct {
	Store *store.Store
	// RescanInterval is how often the deliverer looks for due events without a notification.
	RescanInterval time.Duration
	// PollInterval is how often SQLite is asked for writes of other processes. Default 500 milliseconds.
	PollInterval time.Duration
	// RenewInterval is the time between renewals of a lease, default 750 milliseconds. UsableLease is how long after a
	// renewal attempts may run. By default it is one second shorter than [store.Lease], so that they have ended when
	// the lease expires, even if this clock is slower than that of the database.
	RenewInterval, UsableLease time.Duration
	// OnError is called with the errors of the database, which do not end Run, and with nil.
	OnError func(context.Context, error)
	// Logger gets a line when lanes come and go.
	Logger *slog.Logger
	// Now returns the current time of this machine.
	Now func() time.Time
}

// Lanes is the lanes of a process.
type Lanes interface {
	// Run makes a deliverer deliver for the lanes that the process holds, until stop ends. It must be called once. When
	// leaving ends, it releases the lanes that others can take.
	Run(leaving, stop context.Context, d Deliverer)
	// Release releases all lanes to other processes. Call it after Run, when no attempt is running.
	Release(ctx context.Context)
	// Now returns the time of the clock that decides which events are due: of the database, or of this machine on
	// SQLite. Like Valid, it is safe for concurrent use.
	Now() time.Time
	// Valid reports whether the process may deliver for its lanes, and may get lanes.
	Valid() bool
}

const (
	// clockTolerance is the largest correction of the clock that is ignored.
	clockTolerance = time.Second
	renewTimeout   = 2 * time.Second
)

// New returns the lanes of a process. They are shared if the database is.
func New(cfg Config) Lanes {
	cfg.PollInterval = cmp.Or(cfg.PollInterval, 500*time.Millisecond)
	cfg.RenewInterval = cmp.Or(cfg.RenewInterval, 750*time.Millisecond)
	cfg.UsableLease = cmp.Or(cfg.UsableLease, store.Lease-time.Second)
	if cfg.Store.Shared() {
		return &shared{Config: cfg}
	}
	return &all{cfg}
}
