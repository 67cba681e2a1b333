// Package jobs does what is due for subjects: it renders them and delivers their events.
package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"

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
	// Workers is how many attempts are made at once. Default 256.
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
	secrets secrets
	// safetyNet is how often a look is taken at everything when nothing says that one is needed.
	safetyNet time.Duration
}

// New makes a Jobs.
func New(cfg Config) *Jobs {
	setDefault(&cfg.RenderTimeout, 15*time.Minute)
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
	return &Jobs{Config: cfg, safetyNet: defaultSafetyNet}
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

// Render renders a subject once and writes what follows. When ctx ends first, nothing is
// written and the rendering stays due.
func (j *Jobs) Render(ctx context.Context, subjectID string) error {
	subject, err := j.Store.Subject(ctx, subjectID)
	if errors.Is(err, studio.ErrNotFound) {
		return nil // it has been deleted
	}
	if err != nil || subject.RenderAt.IsZero() || subject.RenderAt.After(j.Now()) {
		return err
	}
	began := j.Now()
	limited, cancel := context.WithTimeout(ctx, j.RenderTimeout)
	go j.cancelDeleted(limited, cancel, subjectID)
	result, failure := j.Renderer.Render(limited, subject)
	cancel()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	subject, err = j.Studio.Rendered(ctx, subjectID, result, failure)
	if errors.Is(err, studio.ErrNotFound) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	j.Logger.InfoContext(ctx, "rendered", "kind", subject.Kind, "id", subject.ID,
		"status", subject.Status, "duration", j.Now().Sub(began))
	return nil
}

// deletionPoll is how often a running rendering looks whether its subject has been deleted.
const deletionPoll = time.Second

// cancelDeleted cancels a rendering whose subject is deleted, by whatever process.
func (j *Jobs) cancelDeleted(ctx context.Context, cancel context.CancelFunc, subjectID string) {
	ticker := time.NewTicker(deletionPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if _, err := j.Store.Subject(ctx, subjectID); errors.Is(err, studio.ErrNotFound) {
			cancel()
		}
	}
}
