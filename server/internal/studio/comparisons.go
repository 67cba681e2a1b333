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

// comparisonQueue limits concurrent comparisons and hashes of passwords, which need a processor and much memory each,
// to half of the processors. Known addresses have priority. Within a priority, the queue is fair by address. When it is
// full, it rejects the last login of the address with the most waiting logins.
type comparisonQueue struct {
	mu      sync.Mutex
	free    int
	limit   int // of waiting logins, for known and unknown addresses each
	known   addressQueue
	unknown addressQueue
}

func newComparisonQueue() comparisonQueue {
	n := max(1, runtime.GOMAXPROCS(0)/2)
	return comparisonQueue{free: n, limit: n * waitingPerSlot}
}

// addressQueue has the waiting logins by address. The order of addresses is the order in which they are
// served.
type addressQueue struct {
	addresses []string
	waiting   map[string][]*waiter
	n         int
}

// waiter is a waiting login. It is admitted when admitted is closed and err is nil.
type waiter struct {
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
	l := &q.unknown
	if known {
		l = &q.known
	}
	if l.n >= q.limit && !l.evict(address) {
		q.mu.Unlock()
		return nil, ErrBusy
	}
	mine := &waiter{admitted: make(chan struct{})}
	l.add(address, mine)
	q.mu.Unlock()
	select {
	case <-mine.admitted:
		if mine.err != nil {
			return nil, mine.err
		}
		return release, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	waited := l.remove(address, mine)
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
	for _, l := range []*addressQueue{&q.known, &q.unknown} {
		if l.n > 0 {
			address := l.addresses[0]
			first := l.waiting[address][0]
			l.remove(address, first)
			if len(l.waiting[address]) > 0 { // to the end of the order
				l.addresses = append(l.addresses[1:], address)
			}
			close(first.admitted)
			return
		}
	}
	q.free++
}

func (l *addressQueue) add(address string, w *waiter) {
	if l.waiting == nil {
		l.waiting = make(map[string][]*waiter)
	}
	if len(l.waiting[address]) == 0 {
		l.addresses = append(l.addresses, address)
	}
	l.waiting[address] = append(l.waiting[address], w)
	l.n++
}

// remove removes a waiting login. It returns false if the login was not waiting.
func (l *addressQueue) remove(address string, w *waiter) bool {
	i := slices.Index(l.waiting[address], w)
	if i < 0 {
		return false
	}
	l.n--
	l.waiting[address] = slices.Delete(l.waiting[address], i, i+1)
	if len(l.waiting[address]) == 0 {
		delete(l.waiting, address)
		l.addresses = slices.DeleteFunc(l.addresses, func(a string) bool { return a == address })
	}
	return true
}

// evict rejects the last login of the address with the most waiting logins, if newcomer has fewer. It returns
// false if nothing was rejected.
func (l *addressQueue) evict(newcomer string) bool {
	busiest := newcomer
	for _, address := range l.addresses {
		if len(l.waiting[address]) > len(l.waiting[busiest]) {
			busiest = address
		}
	}
	waiting := l.waiting[busiest]
	if len(waiting) <= len(l.waiting[newcomer])+1 {
		return false
	}
	last := waiting[len(waiting)-1]
	l.remove(busiest, last)
	last.err = ErrBusy
	close(last.admitted)
	return true
}

// maxAtOnce limits the concurrent logins to one account from one address.
const maxAtOnce = 64

// keyedLock is a mutex for each key. A login holds the lock of its account and address.
type keyedLock struct {
	mu  sync.Mutex
	all map[string]*keyLock
}

type keyLock struct {
	held chan struct{}
	n    int
}

func (p *keyedLock) lock(ctx context.Context, key string) (release func(), err error) {
	p.mu.Lock()
	if p.all == nil {
		p.all = make(map[string]*keyLock)
	}
	mine := p.all[key]
	if mine == nil {
		mine = &keyLock{held: make(chan struct{}, 1)}
		p.all[key] = mine
	}
	if mine.n >= maxAtOnce {
		p.mu.Unlock()
		return nil, ErrBusy
	}
	mine.n++
	p.mu.Unlock()
	leave := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if mine.n--; mine.n == 0 {
			delete(p.all, key)
		}
	}
	select {
	case mine.held <- struct{}{}:
		return func() { <-mine.held; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
