package auth

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/faultlog"
)

const (
	// revocationOverlap is how long before the last reading the next one begins, for revocations that were committed
	// late, or by a daemon whose clock is behind.
	revocationOverlap = 5 * time.Minute
	// completeInterval is the interval at which all revocations are read, for clocks that are further behind or are set
	// back.
	completeInterval = time.Minute
	// maxClockDifference is the largest difference between the clocks of daemons.
	maxClockDifference = time.Hour
)

// Revocations contains the sessions that have ended and whose access tokens have not expired. It polls the new ones,
// which costs less than a query for each request. It is safe for concurrent use. Call [Revocations.Load] before the
// first request is served, and then [Revocations.Run].
type Revocations struct {
	// Read returns the revocations after the given time: when the sessions ended, by their ids.
	Read   func(ctx context.Context, after time.Time) (map[string]time.Time, error)
	Logger *slog.Logger

	mu               sync.RWMutex
	revoked          map[string]time.Time
	loaded, complete time.Time // of the last reading, and of the last one of all revocations
}

// Load reads the revocations since the last Load, and once a minute all that affect tokens which are valid at now. If
// that fails, it keeps the current revocations.
func (r *Revocations) Load(ctx context.Context, now time.Time) error {
	oldest := now.Add(-TokenLifetime - maxClockDifference)
	r.mu.RLock()
	after, age := r.loaded.Add(-revocationOverlap), now.Sub(r.complete)
	r.mu.RUnlock()
	complete := age < 0 || age >= completeInterval
	if complete {
		after = oldest
	}
	revoked, err := r.Read(ctx, after)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loaded = now; complete {
		r.complete = now
	}
	maps.DeleteFunc(r.revoked, func(_ string, at time.Time) bool { return at.Before(oldest) })
	for id, at := range revoked {
		r.revoke(id, at)
	}
	return nil
}

// Revoke adds a revocation by this process, which Load need not read.
func (r *Revocations) Revoke(id string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.revoke(id, at)
}

func (r *Revocations) revoke(id string, at time.Time) {
	if r.revoked == nil {
		r.revoked = make(map[string]time.Time)
	}
	if at.After(r.revoked[id]) {
		r.revoked[id] = at
	}
}

// Run calls Load every [studio.RevocationInterval] until ctx ends, and logs its errors.
func (r *Revocations) Run(ctx context.Context) {
	faults := faultlog.Log{Logger: r.Logger}
	for ; ctx.Err() == nil; studio.Pause(ctx, studio.RevocationInterval) {
		faults.Error(ctx, "revocations", r.Load(ctx, time.Now()))
	}
}

// Revokes reports whether the tokens of a session have been revoked.
func (r *Revocations) Revokes(sessionID string) bool {
	if r == nil {
		return false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, ended := r.revoked[sessionID]
	return ended
}
