package deliver

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// Sender makes one attempt to deliver an event.
type Sender interface {
	Send(ctx context.Context, message sender.Message) sender.Attempt
}

// Defaults of [Config].
const (
	DefaultWorkers = 256
	DefaultRate    = 50
)

// Config configures a [Deliverer]. Store, Studio and Sender are required.
type Config struct {
	Store  *store.Store
	Studio *studio.Service
	Sender Sender
	// Workers bounds the concurrent attempts of this process. If all workers are busy, each user without a busy worker
	// gets an extra one, up to four times Workers in total. Default [DefaultWorkers].
	Workers int
	// InFlight bounds the attempts in flight to one origin. This and the next limits hold for all processes
	// together, because one process begins all attempts for an origin. Default 4 for each 50 of Rate, which an origin
	// reaches with responses within 80 milliseconds, and at most Workers.
	InFlight int
	// Rate bounds the attempts that begin in one second to one origin, on average. After a pause, a burst of up to a
	// fifth of Rate may begin at once. Default [DefaultRate].
	Rate int
	// BreakAfter is the number of consecutive failures that open the circuit breaker of an origin. A response
	// with another 4xx than 408, 425 and 429 is no failure of the origin. Default 10.
	BreakAfter int
	// OnAttempt is called after each attempt, for metrics. It is not called for an attempt that was canceled, nor for
	// an event that ends without an attempt because its URL is disabled. It must be safe for concurrent use. Default:
	// none.
	OnAttempt func(studio.EventState, sender.Attempt)
	// OnRenderDue is called when another process has renderings for which it has no worker, and when notifications of
	// other processes may have been lost. Default: none.
	OnRenderDue func()
	// Alert tells a user about a webhook URL; see [store.Store.ClaimAlert]. After an error, which it must log or count,
	// it is called again 10 minutes later. The calls of a process are not concurrent. Default: users are not alerted.
	Alert func(context.Context, store.Alert) error
	// Tracer records a span for each attempt, in the trace of the request that created the subject. Default: none.
	Tracer trace.Tracer
	// Logger gets one line for each attempt, and the errors of the database. Default: none.
	Logger *slog.Logger
	// RescanInterval is how often all due events are looked for without a notification. Default 30 seconds.
	RescanInterval time.Duration
	// Now returns the current time. Default time.Now.
	Now func() time.Time
}

func (cfg Config) withDefaults() Config {
	cfg.Workers = cmp.Or(cfg.Workers, DefaultWorkers)
	cfg.Rate = cmp.Or(cfg.Rate, DefaultRate)
	cfg.InFlight = cmp.Or(cfg.InFlight, min(max(1, cfg.Rate*4/50), cfg.Workers))
	cfg.BreakAfter = cmp.Or(cfg.BreakAfter, 10)
	cfg.RescanInterval = cmp.Or(cfg.RescanInterval, 30*time.Second)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.OnAttempt == nil {
		cfg.OnAttempt = func(studio.EventState, sender.Attempt) {}
	}
	if cfg.OnRenderDue == nil {
		cfg.OnRenderDue = func() {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return cfg
}
