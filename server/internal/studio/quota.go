package studio

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
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
	slots   chan struct{} // has a value for each creation that has begun
	running atomic.Int64  // creations that were admitted; some may have a row already

	lock chan struct{} // has a value while left and full are used, and the rows are counted
	left int           // creations that may begin before the next count
	full time.Time     // time of the last count at the limit
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
	if err := c.take(ctx, s, userID); err != nil {
		<-c.slots
		return nil, err
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
	c := &counted{slots: make(chan struct{}, slots), lock: make(chan struct{}, 1)}
	p.users[userID] = c
	return c
}

// take admits a creation if one is left. If none is, it counts the rows, unless they were just found to be too many.
// One call counts at a time: the result of an older count would admit creations again that a newer count has admitted.
func (c *counted) take(ctx context.Context, s *Service, userID string) error {
	select {
	case c.lock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.lock }()
	if age := s.now().Sub(c.full); c.left == 0 && (age >= recountAfter || age < 0) {
		running := int(c.running.Load()) // no other begins before left is set; these may be counted or not
		rows, err := s.Store.CreationsInProgress(ctx, userID)
		if err != nil {
			return err
		}
		if c.left = max(0, min(s.MaxInProgress-rows, cap(c.slots))-running); c.left == 0 {
			c.full = s.now()
		}
	}
	if c.left == 0 {
		return ErrTooManyCreations.After(creationPause)
	}
	c.left--
	c.running.Add(1)
	return nil
}

func (c *counted) end() {
	c.running.Add(-1)
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
