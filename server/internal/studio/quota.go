package studio

import (
	"context"
	"io"
	"sync"
	"time"
)

const (
	// creationPause is the Retry-After for a user with too many creations in progress.
	creationPause = 5 * time.Second
	// recountAfter is how long a count at the limit stays valid.
	recountAfter = time.Second
	// countedPart is the fraction of the limit that a process admits before it counts the rows again, and that may be
	// without a row: one in this many. Other processes cannot count these, so each exceeds the limit by at most that.
	countedPart = 20
	// maxCounted limits the users whose counts a process caches.
	maxCounted = 10_000
)

// inProgress limits the creations of each user that are waiting to be rendered or being rendered. It counts
// the rows once for several creations.
type inProgress struct {
	mu    sync.Mutex
	users map[string]*counted
}

// counted is the state of a user since the rows were last counted.
type counted struct {
	slots    chan struct{} // one for each creation that has begun
	counting chan struct{} // held while the rows are counted

	mu      sync.Mutex
	left    int       // creations that may begin before the next count
	running int       // creations that have begun; some may have a row already
	full    time.Time // time of the last count at the limit
}

// begin admits a creation. The caller must call end when the row has been written. The error is
// [ErrTooManyCreations] if there are too many.
func (p *inProgress) begin(ctx context.Context, s *Service, userID string) (end func(), err error) {
	if s.MaxInProgress == 0 {
		return func() {}, nil
	}
	c := p.of(userID, max(1, s.MaxInProgress/countedPart))
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() {
		if err != nil {
			<-c.slots
		}
	}()
	admitted, stale, _ := c.take(s.now())
	if stale {
		if admitted, err = c.recount(ctx, s, userID); err != nil {
			return nil, err
		}
	}
	if !admitted {
		return nil, ErrTooManyCreations.After(creationPause)
	}
	return c.end, nil
}

func (p *inProgress) of(userID string, slots int) *counted {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.users[userID]; c != nil {
		return c
	}
	if p.users == nil || len(p.users) >= maxCounted {
		p.users = make(map[string]*counted)
	}
	c := &counted{slots: make(chan struct{}, slots), counting: make(chan struct{}, 1)}
	p.users[userID] = c
	return c
}

// take admits a creation if one is left. Otherwise it reports whether the rows must be counted, and the running
// creations.
func (c *counted) take(now time.Time) (admitted, stale bool, running int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left > 0 {
		c.left--
		c.running++
		return true, false, c.running
	}
	age := now.Sub(c.full)
	return false, age >= recountAfter || age < 0, c.running
}

// recount counts the rows and then takes. One call counts at a time: the result of an older count would admit
// creations again that a newer count has admitted.
func (c *counted) recount(ctx context.Context, s *Service, userID string) (admitted bool, err error) {
	select {
	case c.counting <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-c.counting }()
	admitted, stale, running := c.take(s.now())
	if !stale { // another call has counted
		return admitted, nil
	}
	rows, err := s.Store.CreationsInProgress(ctx, userID)
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	// No creation has begun since take, because none was left. Those that were running may have been counted or not.
	c.left = min(s.MaxInProgress-rows, cap(c.slots)) - running
	if c.left <= 0 {
		c.left, c.full = 0, s.now()
	}
	c.mu.Unlock()
	admitted, _, _ = c.take(s.now())
	return admitted, nil
}

func (c *counted) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	<-c.slots
}

// uploading counts the bytes that each user is uploading to this process.
type uploading struct {
	mu    sync.Mutex
	users map[string]*uploads
}

// uploads are the uploads of a user since one began while no other was running.
type uploads struct {
	running int
	bytes   int64
	stored  int64 // the part of bytes that has rows
}

// begin begins an upload. stored is the part of what add returns that already has rows.
func (u *uploading) begin(userID string) (stored int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.users == nil {
		u.users = make(map[string]*uploads)
	}
	if u.users[userID] == nil {
		u.users[userID] = new(uploads)
	}
	u.users[userID].running++
	return u.users[userID].stored
}

// add counts n bytes of an upload. It returns the sum of its and all other uploads.
func (u *uploading) add(userID string, n int64) (all int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.users[userID].bytes += n
	return u.users[userID].bytes
}

// end ends an upload of n bytes. stored reports whether it has a row.
func (u *uploading) end(userID string, n int64, stored bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	user := u.users[userID]
	if stored {
		user.stored += n
	} else {
		user.bytes -= n
	}
	if user.running--; user.running == 0 {
		delete(u.users, userID)
	}
}

// uploadReader counts the bytes read. It fails with [ErrTooMuchMedia] if the user exceeds the limit.
type uploadReader struct {
	content io.Reader
	n       int64
	left    int64 // limit for what add returns
	add     func(n int64) (all int64)
}

func (r *uploadReader) Read(p []byte) (int, error) {
	n, err := r.content.Read(p)
	r.n += int64(n)
	if r.add(int64(n)) > r.left {
		return 0, ErrTooMuchMedia
	}
	return n, err
}
