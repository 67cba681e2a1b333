package render

import (
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// EstimateLeft returns a function that estimates the time left of a rendering that began at a time.
func EstimateLeft(began time.Time) func(done float64, stage protocol.Stage, now time.Time) time.Duration {
	return newEstimate(began).left
}

// SetPollInterval sets how often due renderings are looked for without a notification.
func (p *Pool) SetPollInterval(d time.Duration) { p.pollInterval = d }

// SetSoleProcess makes a Pool on PostgreSQL run in a synctest bubble: no other process uses the database, and the clock
// of this process stands in for that of the database.
func (p *Pool) SetSoleProcess() { p.shared = false }
