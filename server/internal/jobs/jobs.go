// Package jobs does what is due for subjects: it renders them and delivers their events. The rows in
// the store hold all state, order and due times. [Trigger] does the work of a daemon:
//
//	store.Due, LISTEN --> Trigger --> renders    SQLite: a scan of what is due. PostgreSQL: River.
//	                         |
//	                         v         hold, drop, dropAll
//	                     deliverer <------------------------ holder: which lanes are this process's
//	                         |  in memory: queue (users, lines, a few deliveries of each) and origins
//	                         |  (rate, in flight, breaker). One goroutine owns both.
//	                         v
//	     Store.Deliveries, Sender.Send, Store.Record, each in goroutines of their own
//
// A line is what one user has due for one origin. Lines of all users and origins are known, but of each
// no more than a few deliveries are read, for a second at most: what waits, waits in the rows.
//
// # Fairness
//
// The next free worker goes to the user who has the fewest attempts in flight, and then to the line of
// his that has waited the longest. A user may have as many in flight as there are workers free, so one
// who comes later finds some. Origins that have not answered lately share three quarters of the workers,
// and those whose last attempt failed half. Of these a user has no more than if all who have such
// origins, and one more user, had the same number. When more users than that have origins that hang,
// a user for whom nothing is at work gets a worker more, up to four times as many as there are.
//
// # Who delivers what
//
// For one subject, no two attempts are made at once. On SQLite a process has the database to itself. On
// PostgreSQL, origins are shared out by hash in 256 lanes, and one process holds each: all limits of an
// origin are kept in one place, however many daemons there are. A holder is a row that its process
// renews every 750 ms, on a connection of its own. When it was not renewed for [store.Lease], another
// process deletes it and takes its lanes; by then the first has ended its attempts, by its own clock. A
// record names its holder, and the transaction keeps nothing if that row is gone. It is one request to
// the server, so a process that freezes in the middle of one holds no lock.
//
// Lanes are rows and not jobs of River's, because a job has no lease of seconds, no token that a
// transaction could check, and is written four times where a lane is written when it changes hands. For
// the same reason work that becomes due is announced by a plain NOTIFY, and that only if another process
// holds its lane. It is sent after the commit: a transaction that notifies holds up every other that
// does. What was not announced, because a process died between the two, is found when its lease ends.
//
// # Who renders what
//
// Who renders a subject says so in its row, and that it still does so every second. On PostgreSQL others
// may take it when that was not said for [store.RenderLease]. River tells machines that there is a turn;
// whose turn it is, the rows say when it is taken: that of the user with the fewest renderings under way
// on all machines.
//
// # Clocks
//
// On PostgreSQL the clock of the database decides what is due; each renewal tells it. On SQLite it is
// that of the machine.
//
// # Repetition
//
// Everything may be done again at any time, after a crash for instance: rendering is repeated until its
// result is written, and an attempt that was not recorded is made again with the same event id.
package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// Sender makes one attempt to deliver an event.
type Sender interface {
	Send(ctx context.Context, message sender.Message) sender.Attempt
}

// Config holds what the work needs. Store, Studio, Sender and Renderer are required.
type Config struct {
	Store    *store.Store
	Studio   *studio.Service
	Sender   Sender
	Renderer studio.Renderer
	// RenderTimeout ends a rendering that hangs; it is then tried again. Default 15 minutes.
	RenderTimeout time.Duration
	// RenderWorkers is how many subjects are rendered at once; none when it is negative. Default 16.
	RenderWorkers int
	// Workers is how many attempts are made at once. When they are all at work, users for whom none is
	// get one each all the same, up to four times as many. Default 256.
	Workers int
	// InFlight is how many attempts may be in flight to one origin. Default 4.
	InFlight int
	// Rate is how many attempts may begin in a second to one origin, a few more at once after a
	// rest. Default 50.
	Rate int
	// BreakAfter is after how many failures in a row no attempt is made to an origin for a while.
	// Default 10.
	BreakAfter int
	// BreakPause is that while. It is doubled each time the next attempt fails too, up to
	// MaxBreakPause. Defaults 30 seconds and 5 minutes.
	BreakPause, MaxBreakPause time.Duration
	// Logger gets one line for each rendering and each attempt. Default: none.
	Logger *slog.Logger
	// Now tells the time. Default time.Now.
	Now func() time.Time
}

// Jobs does the work. It is safe for concurrent use with the limit that the package states.
type Jobs struct {
	Config
	id      string // of this process, for renderings
	secrets secrets
	// safetyNet is how often a look is taken at everything when nothing says that one is needed.
	safetyNet time.Duration
}

// New makes a Jobs.
func New(cfg Config) *Jobs {
	setDefault(&cfg.RenderTimeout, 15*time.Minute)
	if cfg.RenderWorkers == 0 {
		cfg.RenderWorkers = 16
	}
	setDefault(&cfg.Workers, 256)
	setDefault(&cfg.InFlight, 4)
	setDefault(&cfg.Rate, 50)
	setDefault(&cfg.BreakAfter, 10)
	setDefault(&cfg.BreakPause, 30*time.Second)
	setDefault(&cfg.MaxBreakPause, 5*time.Minute)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Jobs{Config: cfg, id: uuid.NewString(), safetyNet: defaultSafetyNet}
}

// lane is the share that an origin belongs to: on SQLite, one for all.
func (j *Jobs) lane(origin string) int {
	if j.Store.Pool() == nil {
		return 0
	}
	return store.Lane(origin)
}

// lanes is what [store.Store.DueLines] wants to have for some lanes.
func (j *Jobs) lanes(lanes []int) []int {
	if j.Store.Pool() == nil {
		return nil
	}
	return lanes
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}
