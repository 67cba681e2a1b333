package studio

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// waitingForTurn is how many may wait for each turn to compare a password, of those whose address is
// known and of the others: about half a second of work. A further one is [ErrBusy] at once.
const waitingForTurn = 16

// turns hands out the turns to compare passwords, which take a processor and much memory. Half of the
// processors are left to everybody else. Who is known goes first, and addresses take turns. When too
// many wait, the last of the address that has most is sent away.
type turns struct {
	mu       sync.Mutex
	free     int
	most     int
	known    line
	stranger line
}

func newTurns() turns {
	n := max(1, runtime.GOMAXPROCS(0)/2)
	return turns{free: n, most: n * waitingForTurn}
}

// line is who waits, by address; the order of addresses is whose turn it is.
type line struct {
	addresses []string
	waiting   map[string][]*ticket
	n         int
}

// ticket is one who waits until called; err is why in vain.
type ticket struct {
	called chan struct{}
	err    error
}

// take waits for a turn; done ends it and may be called again.
func (t *turns) take(ctx context.Context, address string, known bool) (done func(), err error) {
	done = sync.OnceFunc(t.next)
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return done, nil
	}
	l := &t.stranger
	if known {
		l = &t.known
	}
	if l.n >= t.most && !l.shed(address) {
		t.mu.Unlock()
		return nil, ErrBusy
	}
	mine := &ticket{called: make(chan struct{})}
	l.add(address, mine)
	t.mu.Unlock()
	select {
	case <-mine.called:
		if mine.err != nil {
			return nil, mine.err
		}
		return done, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	waited := l.remove(address, mine)
	t.mu.Unlock()
	if !waited && mine.err == nil { // it was called meanwhile
		done()
	}
	return nil, ctx.Err()
}

// next gives a turn that has ended to the next who waits.
func (t *turns) next() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range []*line{&t.known, &t.stranger} {
		if l.n > 0 {
			address := l.addresses[0]
			first := l.waiting[address][0]
			l.remove(address, first)
			if len(l.waiting[address]) > 0 { // behind the others
				l.addresses = append(l.addresses[1:], address)
			}
			close(first.called)
			return
		}
	}
	t.free++
}

func (l *line) add(address string, who *ticket) {
	if l.waiting == nil {
		l.waiting = make(map[string][]*ticket)
	}
	if len(l.waiting[address]) == 0 {
		l.addresses = append(l.addresses, address)
	}
	l.waiting[address] = append(l.waiting[address], who)
	l.n++
}

// remove reports whether who was waiting.
func (l *line) remove(address string, who *ticket) bool {
	i := slices.Index(l.waiting[address], who)
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

// shed sends away the last of the address that has most, if a newcomer's address has fewer.
func (l *line) shed(newcomer string) bool {
	most := newcomer
	for _, address := range l.addresses {
		if len(l.waiting[address]) > len(l.waiting[most]) {
			most = address
		}
	}
	waiting := l.waiting[most]
	if len(waiting) <= len(l.waiting[newcomer])+1 {
		return false
	}
	last := waiting[len(waiting)-1]
	l.remove(most, last)
	last.err = ErrBusy
	close(last.called)
	return true
}

// maxAtOnce is how many logins to one account from one address may be under way.
const maxAtOnce = 64

// pairs lets one login at a time through for an account and an address.
type pairs struct {
	mu  sync.Mutex
	all map[string]*pair
}

type pair struct {
	turn chan struct{}
	n    int
}

func (p *pairs) enter(ctx context.Context, key string) (release func(), err error) {
	p.mu.Lock()
	if p.all == nil {
		p.all = make(map[string]*pair)
	}
	mine := p.all[key]
	if mine == nil {
		mine = &pair{turn: make(chan struct{}, 1)}
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
	case mine.turn <- struct{}{}:
		return func() { <-mine.turn; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
