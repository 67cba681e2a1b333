package auth

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Revocations contains the revoked access tokens: for each user, those that were issued up to a time. It polls
// these times, which costs less than a query for each request. It is safe for concurrent use. Call
// [Revocations.Load] before the first request is served, and then [Revocations.Run].
type Revocations struct {
	// Read returns the revocations after the given time: when the tokens were revoked, by user.
	Read   func(ctx context.Context, after time.Time) (map[string]time.Time, error)
	Logger *slog.Logger

	mu      sync.RWMutex
	revoked map[string]time.Time
}

// Load reads the revocations that affect tokens that are valid at now. If that fails, it keeps the current
// revocations.
func (r *Revocations) Load(ctx context.Context, now time.Time) error {
	revoked, err := r.Read(ctx, now.Add(-TokenLifetime))
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !maps.Equal(r.revoked, revoked) {
		r.revoked = revoked
	}
	return nil
}

// Run calls Load every [studio.RevocationInterval] until ctx ends. Of consecutive errors it logs the first.
func (r *Revocations) Run(ctx context.Context) {
	reload(ctx, studio.RevocationInterval, func(now time.Time) error { return r.Load(ctx, now) }, func(err error) {
		r.Logger.WarnContext(ctx, "revocations of tokens not read", "err", err)
	})
}

// reload calls load at each interval until ctx ends. It calls failed for the first of several consecutive
// errors.
func reload(ctx context.Context, interval time.Duration, load func(now time.Time) error, failed func(error)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			err := load(now)
			if err != nil && !failing && ctx.Err() == nil {
				failed(err)
			}
			failing = err != nil
		}
	}
}

// Revokes reports whether a token that was issued at the given time has been revoked.
func (r *Revocations) Revokes(userID string, issued time.Time) bool {
	if r == nil {
		return false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	at, ok := r.revoked[userID]
	return ok && !issued.After(at)
}
