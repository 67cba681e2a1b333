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

// QueuedEvents returns the number of events that wait for the readers of streams.
func (s *Service) QueuedEvents() (n int) {
	s.feeds.mu.Lock()
	defer s.feeds.mu.Unlock()
	for _, feed := range s.feeds.users {
		for stream := range feed.streams {
			n += len(stream.queue)
		}
	}
	return n
}

// NewAPIKey returns a random key.
func NewAPIKey() string { return newAPIKey() }

// Frame calls frame.
func Frame(parts ...string) []byte { return frame(parts...) }
