package studio

import "context"

// ComparisonQueue is a comparisonQueue with a single slot.
type ComparisonQueue struct{ comparisonQueue }

// NewComparisonQueue returns a queue in which most logins of each priority can wait.
func NewComparisonQueue(most int) *ComparisonQueue {
	return &ComparisonQueue{comparisonQueue{free: 1, most: most}}
}

// Acquire calls acquire.
func (t *ComparisonQueue) Acquire(ctx context.Context, address string, known bool) (release func(), err error) {
	return t.acquire(ctx, address, known)
}

// Transitions returns the allowed next states for each kind and state.
func Transitions() map[Kind]map[Status][]Status { return transitions }
