package store

import (
	"slices"
	"sync"
)

// commitQueue is a queue for group commit. Changes that arrive while a group commits form the next one. A change that
// arrives while none does is committed without a wait. One group at a time is cheaper than several, because more
// changes share the cost of a statement.
type commitQueue[T comparable] struct {
	commit    func(group []T)
	sameGroup func(first, other T) bool // whether both may be in one group; nil for any

	mu         sync.Mutex
	waiting    []T
	committing bool // a goroutine commits until no change waits
}

// add queues a change. The commit function signals its end.
func (q *commitQueue[T]) add(change T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, change)
	if !q.committing {
		q.committing = true
		go func() {
			for group := q.takeGroup(); len(group) > 0; group = q.takeGroup() {
				q.commit(group)
			}
		}()
	}
}

// takeGroup removes the next group from the waiting changes.
func (q *commitQueue[T]) takeGroup() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, limit := 0, min(len(q.waiting), maxGroup)
	for n < limit && (q.sameGroup == nil || q.sameGroup(q.waiting[0], q.waiting[n])) {
		n++
	}
	group := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	q.committing = n > 0
	return group
}

// remove removes a change that waits. It reports false if the group of the change has begun.
func (q *commitQueue[T]) remove(change T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, change)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}
