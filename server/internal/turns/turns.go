// Package turns lets the users of a service take turns at what is expensive, by how many bytes their
// requests have. [Handler] puts them around an HTTP server.
package turns

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Config says how many turns there are. Its zero value works.
type Config struct {
	// Bytes is what all requests that have a turn may have together, each with [Overhead] more; one user
	// may have half of it. A request with more takes that half. Default 2 MiB.
	Bytes int64
	// Wait is how long a request may wait for its turn. Default 5 seconds.
	Wait time.Duration
}

// Overhead is added to the bytes of each request.
const Overhead = 4 << 10

// ErrBusy is returned when a turn did not come in time.
var ErrBusy = errors.New("turns: the users before this one took too long")

// Turns are what users take. The next turn is of the user who has the fewest bytes in turns of those who
// wait, and of those of the one who has waited the longest since the last. It is safe for concurrent use.
type Turns struct {
	cfg Config

	mu    sync.Mutex
	held  int64
	moves int64 // turns that were given, and users who came
	users map[string]*user
}

// user is one who has or awaits turns.
type user struct {
	held    int64
	last    int64 // of the moves
	waiting []*request
}

// request is a request that waits.
type request struct {
	bytes int64
	turn  chan struct{} // closed when it is given
}

// New makes turns.
func New(cfg Config) *Turns {
	cfg.Bytes = cmp.Or(cfg.Bytes, 2<<20)
	cfg.Wait = cmp.Or(cfg.Wait, 5*time.Second)
	return &Turns{cfg: cfg, users: make(map[string]*user)}
}

// Take waits for a turn of a user and returns what ends it, which may be called once. The error is
// ErrBusy or that of ctx.
func (t *Turns) Take(ctx context.Context, userID string, bytes int64) (end func(), err error) {
	r := &request{bytes: min(bytes+Overhead, t.cfg.Bytes/2), turn: make(chan struct{})}
	t.mu.Lock()
	u := t.users[userID]
	if u == nil {
		t.moves++
		u = &user{last: t.moves}
		t.users[userID] = u
	}
	u.waiting = append(u.waiting, r)
	t.give()
	t.mu.Unlock()
	end = func() { t.end(userID, u, r) }
	select {
	case <-r.turn:
		return end, nil
	default:
	}
	timer := time.NewTimer(t.cfg.Wait)
	defer timer.Stop()
	select {
	case <-r.turn:
		return end, nil
	case <-timer.C:
		err = ErrBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	t.leave(userID, u, r)
	return nil, err
}

// leave ends the wait of a request, which may just have got its turn.
func (t *Turns) leave(userID string, u *user, r *request) {
	t.mu.Lock()
	i := slices.Index(u.waiting, r)
	if i >= 0 {
		u.waiting = slices.Delete(u.waiting, i, i+1)
		t.give() // others may fit where it did not
		t.forget(userID, u)
	}
	t.mu.Unlock()
	if i < 0 {
		t.end(userID, u, r)
	}
}

func (t *Turns) end(userID string, u *user, r *request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held -= r.bytes
	u.held -= r.bytes
	t.give()
	t.forget(userID, u)
}

func (t *Turns) forget(userID string, u *user) {
	if u.held == 0 && len(u.waiting) == 0 {
		delete(t.users, userID)
	}
}

// give gives the turns that there are. What does not fit keeps what comes later from its place, so that
// small requests cannot keep a large one waiting.
func (t *Turns) give() {
	for {
		var next *user
		for _, u := range t.users {
			if len(u.waiting) == 0 || u.held+u.waiting[0].bytes > t.cfg.Bytes/2 {
				continue
			}
			if next == nil || cmp.Or(cmp.Compare(u.held, next.held), cmp.Compare(u.last, next.last)) < 0 {
				next = u
			}
		}
		if next == nil || t.held+next.waiting[0].bytes > t.cfg.Bytes {
			return
		}
		r := next.waiting[0]
		next.waiting = slices.Delete(next.waiting, 0, 1)
		t.moves++
		next.last = t.moves
		next.held += r.bytes
		t.held += r.bytes
		close(r.turn)
	}
}
