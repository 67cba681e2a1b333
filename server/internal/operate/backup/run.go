package backup

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// minimumRetry is the interval between the first failure and the next attempt.
const minimumRetry = time.Minute

// Status returns the state of backups.
func (b *Backup) Status() studio.BackupStatus { return *b.status.Load() }

// Run makes backups until ctx is done. It retries after a failure, at first after a minute and then after twice as long
// each time, up to the interval, and logs each failure, whose cause may change, and when backups succeed again.
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
			b.cfg.Logger.WarnContext(ctx, "backups fail", "err", err, "last", status.Last)
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
