// Package fairqueue implements fair queueing of requests by user, weighted by the size of their bodies.
// [Queue.Admit] and [Queue.Middleware] are layers of package server.
package fairqueue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Config configures a [Queue]. The zero value is valid.
type Config struct {
	// Bytes limits the total size of all requests that have proceeded and were not released. [Overhead] is
	// added to each request. One user can hold at most half of it, and a larger request counts as that half.
	// Defaults to 2 MiB.
	Bytes int64
	// Wait limits how long a request waits. Defaults to 5 seconds.
	Wait time.Duration
	// Streamed is the id of an operation that streams the bodies of its requests instead of holding them in memory.
	// Admit and Middleware do not queue them. Empty by default.
	Streamed string
}

// Overhead is added to the size of each request, in bytes.
const Overhead = 4 << 10

// ErrBusy is returned if a request waited longer than [Config.Wait].
var ErrBusy = errors.New("fairqueue: the request waited too long")

// Queue is a fair queue. The next request to proceed belongs to the waiting user who holds the fewest bytes,
// and among those to the user whose last request proceeded the longest ago. Queue is safe for concurrent use.
type Queue struct {
	cfg Config

	mu       sync.Mutex
	held     int64
	sequence int64 // counts requests that proceeded and users that arrived
	users    map[string]*user
}

// user is a user with requests that wait or hold bytes.
type user struct {
	held    int64
	last    int64 // value of Queue.sequence when the last request proceeded
	waiting []*request
}

// request is a waiting request.
type request struct {
	bytes   int64
	proceed chan struct{} // closed when the request may proceed
}

// New returns a Queue.
func New(cfg Config) *Queue {
	cfg.Bytes = cmp.Or(cfg.Bytes, 2<<20)
	cfg.Wait = cmp.Or(cfg.Wait, 5*time.Second)
	return &Queue{cfg: cfg, users: make(map[string]*user)}
}

// Acquire waits until a request of the given size may proceed. It returns a function that releases the bytes,
// which must be called once. The error is ErrBusy or that of ctx.
func (q *Queue) Acquire(ctx context.Context, userID string, bytes int64) (release func(), err error) {
	r := &request{bytes: min(bytes+Overhead, q.cfg.Bytes/2), proceed: make(chan struct{})}
	q.mu.Lock()
	u := q.users[userID]
	if u == nil {
		q.sequence++
		u = &user{last: q.sequence}
		q.users[userID] = u
	}
	u.waiting = append(u.waiting, r)
	q.dispatch()
	q.mu.Unlock()
	release = func() { q.release(userID, u, r) }
	select {
	case <-r.proceed:
		return release, nil
	default:
	}
	timer := time.NewTimer(q.cfg.Wait)
	defer timer.Stop()
	select {
	case <-r.proceed:
		return release, nil
	case <-timer.C:
		err = ErrBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	q.abandon(userID, u, r)
	return nil, err
}

// abandon ends the wait of a request. If the request has just been allowed to proceed, abandon releases it.
func (q *Queue) abandon(userID string, u *user, r *request) {
	q.mu.Lock()
	i := slices.Index(u.waiting, r)
	if i >= 0 {
		u.waiting = slices.Delete(u.waiting, i, i+1)
		q.dispatch() // smaller requests may fit now
		q.forget(userID, u)
	}
	q.mu.Unlock()
	if i < 0 {
		q.release(userID, u, r)
	}
}

func (q *Queue) release(userID string, u *user, r *request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held -= r.bytes
	u.held -= r.bytes
	q.dispatch()
	q.forget(userID, u)
}

func (q *Queue) forget(userID string, u *user) {
	if u.held == 0 && len(u.waiting) == 0 {
		delete(q.users, userID)
	}
}

// dispatch lets waiting requests proceed, in order, while there is room. If the next request does not fit, no
// other request proceeds, so that small requests cannot starve a large one.
func (q *Queue) dispatch() {
	for {
		var next *user
		for _, u := range q.users {
			if len(u.waiting) == 0 || u.held+u.waiting[0].bytes > q.cfg.Bytes/2 {
				continue
			}
			if next == nil || cmp.Or(cmp.Compare(u.held, next.held), cmp.Compare(u.last, next.last)) < 0 {
				next = u
			}
		}
		if next == nil || q.held+next.waiting[0].bytes > q.cfg.Bytes {
			return
		}
		r := next.waiting[0]
		next.waiting = slices.Delete(next.waiting, 0, 1)
		q.sequence++
		next.last = q.sequence
		next.held += r.bytes
		q.held += r.bytes
		close(r.proceed)
	}
}
