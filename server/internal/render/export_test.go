package render

import (
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// EstimateLeft returns a function that estimates the time left of a rendering that began at a time.
func EstimateLeft(began time.Time) func(done float64, stage protocol.Stage, now time.Time) time.Duration {
	return newEstimate(began).left
}

// SetPollInterval sets how often due renderings are looked for without a notification.
func (p *Pool) SetPollInterval(d time.Duration) { p.pollInterval = d }

// SetSoleProcess makes a Pool on PostgreSQL run in a synctest bubble: no other process uses the database, and the clock
// of this process stands in for that of the database.
func (p *Pool) SetSoleProcess() { p.announce = nil }

// TraceWithoutTracer returns a function that traces a rendering.
func TraceWithoutTracer(t *testing.T) func() {
	t.Helper()
	p := &Pool{}
	subject := studio.Subject{TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	return func() {
		_, span := p.startSpan(t.Context(), subject)
		endSpan(span, Failed)
	}
}
