package jobs

import (
	"time"

	"github.com/riverqueue/river"
)

// SetSafetyNet changes how often a look is taken for nothing.
func (l *Local) SetSafetyNet(d time.Duration) { l.safetyNet, l.poll = d, d }

// NewTestRiver makes a River that follows the clock of its jobs, looks often for those that are
// due by it, and takes no look for nothing.
func NewTestRiver(jobs *Jobs) (*River, error) {
	r, err := newRiver(jobs, func(cfg *river.Config) {
		cfg.Test.Time, cfg.FetchPollInterval = riverClock{jobs.Now}, fetchCooldown
	})
	if err == nil {
		r.safetyNet = time.Hour
	}
	return r, err
}

// Abandon ends what a River does for others to see, as the death of its process would.
func (r *River) Abandon() { r.alive = time.Hour }

// riverClock is River's notion of a clock.
type riverClock struct{ now func() time.Time }

func (c riverClock) Now() time.Time { return c.now() }

func (c riverClock) NowOrNil() *time.Time {
	now := c.now()
	return &now
}
