package store

import (
	"slices"
	"sync"
	"time"
)

// commitQueue is a queue for group commit. Changes that arrive while all slots commit form the next group.
// A change that arrives while a slot is free is committed without a wait.
type commitQueue[T comparable] struct {
	commit       func(group []T)
	limit        int                       // the most changes of a group; 0 for no limit
	sameGroup    func(first, other T) bool // whether both may be in one group; nil for any
	slots        chan struct{}             // one for each group that is committed
	extraSlot    chan struct{}             // one more slot, used after maxQueueWait; nil for none
	maxQueueWait time.Duration

	mu            sync.Mutex
	waiting       []T
	leaderStarted bool // a goroutine waits for a slot to commit the waiting changes
}

// add queues a change. The commit function signals its end.
func (q *commitQueue[T]) add(change T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, change)
	q.startLeader()
}

// startLeader makes sure that one goroutine waits for a slot. The caller holds q.mu.
func (q *commitQueue[T]) startLeader() {
	if q.leaderStarted || len(q.waiting) == 0 {
		return
	}
	q.leaderStarted = true
	go func() {
		slot := q.acquireSlot()
		defer func() { <-slot }()
		if group := q.takeGroup(); len(group) > 0 {
			q.commit(group)
		}
	}()
}

// acquireSlot waits for a slot. A receive from the returned channel frees the slot.
func (q *commitQueue[T]) acquireSlot() chan struct{} {
	select {
	case q.slots <- struct{}{}:
		return q.slots
	default:
	}
	if q.extraSlot == nil {
		q.slots <- struct{}{}
		return q.slots
	}
	timer := time.NewTimer(q.maxQueueWait)
	defer timer.Stop()
	var extraSlot chan struct{}
	for {
		select {
		case q.slots <- struct{}{}:
			return q.slots
		case extraSlot <- struct{}{}:
			return extraSlot
		case <-timer.C:
			extraSlot = q.extraSlot
		}
	}
}

// takeGroup removes the next group from the waiting changes. It starts the next leader if changes are left.
func (q *commitQueue[T]) takeGroup() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	limit := len(q.waiting)
	if q.limit > 0 {
		limit = min(limit, q.limit)
	}
	n := 0
	for n < limit && (q.sameGroup == nil || q.sameGroup(q.waiting[0], q.waiting[n])) {
		n++
	}
	group := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	q.leaderStarted = false
	q.startLeader()
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
