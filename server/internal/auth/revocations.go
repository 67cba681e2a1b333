package auth

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Revocations knows from when on the access tokens of users are valid. Reading them again and again
// costs less than asking for each request.
type Revocations struct {
	// Read returns when tokens were revoked, by user, after a time.
	Read   func(ctx context.Context, after time.Time) (map[string]time.Time, error)
	Logger *slog.Logger

	mu      sync.RWMutex
	revoked map[string]time.Time
}

// Load reads the revocations in force at now. After an error those read before count.
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

// Run loads them each [studio.RevocationInterval] until ctx ends.
func (r *Revocations) Run(ctx context.Context) {
	ticker := time.NewTicker(studio.RevocationInterval)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			err := r.Load(ctx, now)
			if err != nil && !failing && ctx.Err() == nil {
				r.Logger.WarnContext(ctx, "revocations of tokens not read", "err", err)
			}
			failing = err != nil
		}
	}
}

// revokes reports whether a token that was issued at a time is no longer valid.
func (r *Revocations) revokes(userID string, issued time.Time) bool {
	if r == nil {
		return false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	at, ok := r.revoked[userID]
	return ok && !issued.After(at)
}
