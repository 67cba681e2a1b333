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

// NewSmallRiver makes a River with one worker for each kind of work, and that says but once that it
// is alive.
func NewSmallRiver(jobs *Jobs) (*River, error) {
	r, err := newRiver(jobs, func(cfg *river.Config) {
		for queue := range cfg.Queues {
			cfg.Queues[queue] = river.QueueConfig{MaxWorkers: 1}
		}
	})
	if err == nil {
		r.alive = time.Hour
	}
	return r, err
}

// ID is what other daemons know a River by.
func (r *River) ID() string { return r.id }

// SetAlive changes how often a River says that it is alive and looks for those that are not.
func (r *River) SetAlive(d time.Duration) { r.alive = d }

// SetSafetyNet changes how often a River looks for jobs that are missing.
func (r *River) SetSafetyNet(d time.Duration) { r.safetyNet = d }

// riverClock is River's notion of a clock.
type riverClock struct{ now func() time.Time }

func (c riverClock) Now() time.Time { return c.now() }

func (c riverClock) NowOrNil() *time.Time {
	now := c.now()
	return &now
}
