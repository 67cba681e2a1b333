package jobs

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/faultlog"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// Sender makes one attempt to deliver an event.
type Sender interface {
	Send(ctx context.Context, message sender.Message) sender.Attempt
}

// Defaults of [Config].
const (
	DefaultRenderTimeout = 15 * time.Minute
	DefaultWorkers       = 256
	DefaultRate          = 50
)

// Config configures [Jobs]. Store, Studio, Sender and Renderer are required.
type Config struct {
	Store    *store.Store
	Studio   *studio.Service
	Sender   Sender
	Renderer studio.Renderer
	// RenderTimeout bounds one rendering. A rendering that times out is retried. Default [DefaultRenderTimeout].
	RenderTimeout time.Duration
	// RenderWorkers bounds the concurrent renderings of this process. A negative value disables rendering.
	// Default 16.
	RenderWorkers int
	// Workers bounds the concurrent attempts of this process. If all workers are busy, each user without a busy worker gets
	// an extra one, up to four times Workers in total. Default [DefaultWorkers].
	Workers int
	// InFlight bounds the attempts in flight to one origin. This and the next limits hold for all processes
	// together, because one process makes all attempts for an origin. Default 4 for each 50 of Rate, which an origin
	// reaches with responses within 80 milliseconds, and at most Workers.
	InFlight int
	// Rate bounds the attempts that begin in one second to one origin. After a pause, a burst of up to a
	// fifth of Rate may begin at once. Default [DefaultRate].
	Rate int
	// BreakAfter is the number of consecutive failures that open the circuit breaker of an origin. A response
	// with another 4xx than 408, 425 and 429 is no failure of the origin. Default 10.
	BreakAfter int
	// OnAttempt and OnRendering are called after each attempt and each rendering, for metrics. They are not
	// called for an attempt or a rendering that was canceled, nor for an event that ends without an attempt
	// because its URL is disabled. They must be safe for concurrent use. Default: none.
	OnAttempt   func(studio.EventState, sender.Attempt)
	OnRendering func(studio.Kind, RenderingOutcome, time.Duration)
	// Alert tells a user that a webhook URL is disabled or has failed for a day, at most once a day for each URL. After an error,
	// which it must log or count, it is called again about 10 minutes later. The calls of a process are not concurrent. Default:
	// users are not alerted.
	Alert func(context.Context, Alert) error
	// Tracer records a span for each rendering and each attempt, in the trace of the request that created
	// the subject. Default: none.
	Tracer trace.Tracer
	// Logger gets one line for each rendering and each attempt, and the errors of the database. Default: none.
	Logger *slog.Logger
	// Daemon is the host and the version of this process, for operators. Default: the process is not listed.
	Daemon store.Daemon
	// Now returns the current time. Default time.Now.
	Now func() time.Time
}

// Jobs contains the configuration and makes single attempts and renderings. It does nothing by itself: a
// [Runner] or a [Worker] calls it. It is safe for concurrent use.
type Jobs struct {
	Config
	secretCache  secretCache
	alerts       alerter
	endpoints    *endpoints
	faults       faultlog.Log
	renderLeases renderLeases
	tasksDue     chan struct{} // receives after this process added tasks
	// rescanInterval is how often all due work is looked for without a notification.
	rescanInterval time.Duration
}

// New returns a Jobs for cfg. Fields that are zero get their defaults.
func New(cfg Config) *Jobs {
	cfg.RenderTimeout = cmp.Or(cfg.RenderTimeout, DefaultRenderTimeout)
	cfg.RenderWorkers = cmp.Or(cfg.RenderWorkers, 16)
	cfg.Workers = cmp.Or(cfg.Workers, DefaultWorkers)
	cfg.Rate = cmp.Or(cfg.Rate, DefaultRate)
	cfg.InFlight = cmp.Or(cfg.InFlight, min(max(1, cfg.Rate*4/50), cfg.Workers))
	cfg.BreakAfter = cmp.Or(cfg.BreakAfter, 10)
	if cfg.OnAttempt == nil {
		cfg.OnAttempt = func(studio.EventState, sender.Attempt) {}
	}
	if cfg.OnRendering == nil {
		cfg.OnRendering = func(studio.Kind, RenderingOutcome, time.Duration) {}
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	j := &Jobs{Config: cfg, endpoints: newEndpoints(), rescanInterval: defaultRescanInterval, tasksDue: make(chan struct{}, 1)}
	j.faults.Logger = cfg.Logger
	j.renderLeases = renderLeases{jobs: j, began: make(chan struct{}, 1), running: make(map[*renderLease]struct{})}
	return j
}
