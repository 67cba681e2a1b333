package backup

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// minimumRetry is the interval between the first failure and the next attempt.
const minimumRetry = time.Minute

// Status is the state of backups.
type Status struct {
	Every time.Duration
	// Began is when this process began to make backups.
	Began time.Time
	// Last is the time of the latest complete backup. It is zero if there is none.
	Last time.Time
	// Size is the size of its database in bytes, compressed.
	Size int64
	// Failed is whether a backup has failed since then.
	Failed bool
}

// Age returns the time since the latest complete backup. If there is none, it is the time since the process began to
// make backups.
func (s Status) Age(now time.Time) time.Duration {
	if s.Last.IsZero() {
		return now.Sub(s.Began)
	}
	return now.Sub(s.Last)
}

// Status returns the state of backups.
func (b *Backup) Status() Status { return *b.status.Load() }

// Run makes backups until ctx is done. It retries after a failure, at first after a minute and later with each
// interval, and logs when backups begin to fail and when they succeed again.
func (b *Backup) Run(ctx context.Context) {
	var retry time.Duration
	for ctx.Err() == nil {
		next, err := b.backUp(ctx)
		if ctx.Err() != nil {
			return
		}
		status := b.Status()
		switch {
		case err != nil:
			if !status.Failed {
				b.cfg.Logger.WarnContext(ctx, "backups fail", "err", err, "last", status.Last)
			}
			status.Failed = true
			retry = min(max(2*retry, minimumRetry), b.every)
			next = b.cfg.Now().Add(retry)
		case status.Failed:
			b.cfg.Logger.InfoContext(ctx, "backups succeed again", "last", status.Last)
			fallthrough
		default:
			status.Failed, retry = false, 0
		}
		b.status.Store(&status)
		studio.Pause(ctx, next.Sub(b.cfg.Now()))
	}
}
