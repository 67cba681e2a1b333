package studio

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// waitingPerSlot limits the logins that wait per comparison slot, separately for known and unknown addresses.
// They are about half a second of work. Further logins get [ErrBusy].
const waitingPerSlot = 16

// maxAtOnce limits the concurrent logins to one account from one address.
const maxAtOnce = 64

// comparisonQueue limits concurrent comparisons and hashes of passwords, which need a processor and much memory each,
// to half of the processors. Known addresses have priority. Within a priority, the queue is fair by address. When it is
// full, it rejects the last login of the address with the most waiting logins.
type comparisonQueue struct {
	mu      sync.Mutex
	free    int
	limit   int       // of waiting logins, for known and unknown addresses each
	waiting []*waiter // in the order of their arrival

	logins KeyedSemaphore // by account and address: each has one comparison at a time
}

func newComparisonQueue() comparisonQueue {
	n := max(1, runtime.GOMAXPROCS(0)/2)
	return comparisonQueue{free: n, limit: n * waitingPerSlot, logins: KeyedSemaphore{Limit: 1, Queue: maxAtOnce}}
}

// waiter is a waiting login. It is admitted when admitted is closed and err is nil.
type waiter struct {
	address  string
	known    bool
	turn     int // an address has one login in each turn
	admitted chan struct{}
	err      error
}

// acquire waits for a slot. The caller must call release, which is idempotent.
func (q *comparisonQueue) acquire(ctx context.Context, address string, known bool) (release func(), err error) {
	release = sync.OnceFunc(q.next)
	q.mu.Lock()
	if q.free > 0 {
		q.free--
		q.mu.Unlock()
		return release, nil
	}
	mine := q.add(address, known)
	q.mu.Unlock()
	if mine == nil {
		return nil, ErrBusy
	}
	select {
	case <-mine.admitted:
		if mine.err != nil {
			return nil, mine.err
		}
		return release, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	waited := q.remove(mine)
	q.mu.Unlock()
	if !waited && mine.err == nil { // admitted in the meantime
		release()
	}
	return nil, ctx.Err()
}

// next passes a released slot to the next waiting login.
func (q *comparisonQueue) next() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.free++
		return
	}
	first := slices.MinFunc(q.waiting, func(a, b *waiter) int {
		switch {
		case a.known == b.known:
			return a.turn - b.turn
		case a.known:
			return -1
		}
		return 1
	})
	q.remove(first)
	close(first.admitted)
}

// add adds a waiting login. If too many wait, it first rejects the last one of the address with the most, or returns
// nil if no address has more than this one would have.
func (q *comparisonQueue) add(address string, known bool) *waiter {
	all := slices.DeleteFunc(slices.Clone(q.waiting), func(w *waiter) bool { return w.known != known })
	mine, waiting := &waiter{address: address, known: known, admitted: make(chan struct{})}, make(map[string]int)
	for i, w := range all {
		waiting[w.address]++
		if i == 0 || w.turn < mine.turn {
			mine.turn = w.turn
		}
	}
	busiest, last := address, (*waiter)(nil)
	for _, w := range all {
		if w.address == address {
			mine.turn = w.turn + 1 // turns of an address rise
		}
		if w.address == busiest || waiting[w.address] > waiting[busiest] {
			busiest, last = w.address, w
		}
	}
	if len(all) >= q.limit {
		if waiting[busiest] <= waiting[address]+1 {
			return nil
		}
		q.remove(last)
		last.err = ErrBusy
		close(last.admitted)
	}
	q.waiting = append(q.waiting, mine)
	return mine
}

// remove removes a waiting login. It returns false if the login was not waiting.
func (q *comparisonQueue) remove(w *waiter) bool {
	i := slices.Index(q.waiting, w)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}
