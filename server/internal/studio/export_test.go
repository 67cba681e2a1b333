package studio

import (
	"context"
	"time"
)

// ComparisonQueue is a comparisonQueue with a single slot.
type ComparisonQueue struct{ comparisonQueue }

// NewComparisonQueue returns a queue in which most logins of each priority can wait.
func NewComparisonQueue(most int) *ComparisonQueue {
	return &ComparisonQueue{comparisonQueue{free: 1, limit: most}}
}

// Acquire calls acquire.
func (t *ComparisonQueue) Acquire(ctx context.Context, address string, known bool) (release func(), err error) {
	return t.acquire(ctx, address, known)
}

// Enter calls enter.
func (s *Subject) Enter(status Status, now time.Time) error { return s.enter(status, now) }

// NewAPIKey returns a random key.
func NewAPIKey() string { return newAPIKey() }

// Frame calls frame.
func Frame(parts ...string) []byte { return frame(parts...) }

// Searchable calls searchable.
func Searchable(text string) string { return searchable(text) }

// Keys returns the number of keys in use.
func (k *KeyedSemaphore) Keys() int { return len(k.keys) }
