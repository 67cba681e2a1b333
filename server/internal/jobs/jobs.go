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
	// OnAttempt and OnRendering are called, concurrently, after each attempt and each rendering, for
	// counting them. Default: nothing.
	OnAttempt   func(AttemptOutcome, sender.Attempt)
	OnRendering func(studio.Kind, RenderingOutcome, time.Duration)
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
	if cfg.OnAttempt == nil {
		cfg.OnAttempt = func(AttemptOutcome, sender.Attempt) {}
	}
	if cfg.OnRendering == nil {
		cfg.OnRendering = func(studio.Kind, RenderingOutcome, time.Duration) {}
	}
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
