package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// creationPatience is how long a group may take before another begins beside it. One at a time costs
	// less: transactions that lock the row of a user together make it costly to lock.
	creationPatience = 100 * time.Millisecond
	// creationGroup is how many creations a group may have.
	creationGroup = 128
	// creationTimeout bounds a group, and acquireTimeout the wait for its turn.
	creationTimeout = answerTimeout - acquireTimeout
)

// creations commits the subjects that are created while others commit together. It is for PostgreSQL;
// on SQLite every change is committed so.
//
// A group inserts many rows with each statement. What needs more than that, or fails, is not part of
// the group and is created alone: a key that was used before, or is in use, and an avatar that is
// locked or has been deleted.
type creations struct {
	turn, second chan struct{} // held by who commits

	mu      sync.Mutex
	waiting []*creation
}

// creation is a subject that waits.
type creation struct {
	subject studio.Subject
	key     studio.IdempotencyKey
	alone   bool // it must be created alone
	err     error
	done    chan struct{} // closed when alone and err are known
}

func newCreations() *creations {
	return &creations{turn: make(chan struct{}, 1), second: make(chan struct{}, 1)}
}

// write creates a subject with those that wait too. It reports whether the subject must be created alone.
func (q *creations) write(ctx context.Context, s *Store, subject studio.Subject, key studio.IdempotencyKey) (alone bool, err error) {
	c := &creation{subject: subject, key: key, done: make(chan struct{})}
	limited, cancel := context.WithTimeoutCause(ctx, acquireTimeout, errNoConnection)
	defer cancel()
	q.mu.Lock()
	q.waiting = append(q.waiting, c)
	q.mu.Unlock()
	patience := time.NewTimer(creationPatience)
	defer patience.Stop()
	var second chan struct{}
	for {
		select {
		case <-c.done:
			return c.alone, c.err
		default:
		}
		select {
		case <-c.done:
		case <-patience.C:
			second = q.second
		case q.turn <- struct{}{}:
			q.writeGroup(ctx, s) // in which this one need not be
			<-q.turn
		case second <- struct{}{}:
			q.writeGroup(ctx, s)
			<-q.second
		case <-limited.Done():
			if q.remove(c) {
				return false, s.failure(context.Cause(limited))
			}
			<-c.done // its group has begun
		}
	}
}

func (q *creations) remove(c *creation) (removed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, c)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

func (q *creations) take() []*creation {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), creationGroup)
	group := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return group
}

// writeGroup creates some that wait. No member may end that for the others.
func (q *creations) writeGroup(ctx context.Context, s *Store) {
	group := q.take()
	if len(group) == 0 {
		return
	}
	limited, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), creationTimeout, errNoAnswer)
	defer cancel()
	err := s.write(limited, func(tx transaction) error { return createGroup(limited, tx, group) })
	for _, c := range group {
		if err != nil {
			c.alone = len(group) > 1 && !errors.Is(err, studio.ErrBusy) // another may be why
			c.err = err
		}
		close(c.done)
	}
}

// createGroup inserts the members that need no more than that, and says which do.
func createGroup(ctx context.Context, tx transaction, group []*creation) error {
	for _, c := range group {
		c.alone = false
	}
	if err := claimKeys(ctx, tx, group); err != nil {
		return err
	}
	if err := lockAvatars(ctx, tx, group); err != nil {
		return err
	}
	rows := newCreationRows(slices.DeleteFunc(slices.Clone(group), func(c *creation) bool { return c.alone }))
	if len(rows.ids) == 0 {
		return nil
	}
	statements := []statement{rows.insertSubjects()}
	if len(rows.keyed) > 0 {
		statements = append(statements, rows.insertKeys())
	}
	if len(rows.events) > 0 {
		statements = append(statements, rows.insertEvents())
	}
	if _, err := tx.execAll(ctx, statements); err != nil {
		return err
	}
	for _, line := range rows.lines {
		tx.deliverDue(line)
	}
	for _, at := range rows.renderings {
		tx.renderDue(at)
	}
	return nil
}

// claimKeys claims the keys of a group and leaves those to be created alone that are in use, were used,
// or are another member's.
func claimKeys(ctx context.Context, tx transaction, group []*creation) error {
	members := make(map[string]*creation)
	var names, users, keys []string
	var after []int64
	for _, c := range group {
		if c.key.Key == "" {
			continue
		}
		name := claimOfKey(c.subject.UserID, c.key)
		if c.alone = members[name] != nil; c.alone {
			continue
		}
		members[name] = c
		names = append(names, name)
		users, keys, after = append(users, c.subject.UserID), append(keys, c.key.Key), append(after, c.key.After.UnixMicro())
	}
	if len(names) == 0 {
		return nil
	}
	leave := func(scan func(...any) error) error {
		var i int
		err := scan(&i)
		if err == nil {
			members[names[i-1]].alone = true
		}
		return err
	}
	err := tx.query(ctx, leave, `SELECT i FROM unnest($1::text[]) WITH ORDINALITY n(name, i)
		WHERE NOT pg_try_advisory_xact_lock(hashtextextended(current_schema() || ' ' || name, 0))`, names)
	if err != nil {
		return err
	}
	return tx.query(ctx, leave, `SELECT n.i FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY n(user_id, key, after, i)
		JOIN idempotency_keys k ON k.user_id = n.user_id AND k.key = n.key WHERE k.created_at > n.after`, users, keys, after)
}

// lockAvatars is lockAvatar for a group. It waits for nobody.
func lockAvatars(ctx context.Context, tx transaction, group []*creation) error {
	var ids []string
	for _, c := range group {
		if c.subject.AvatarID != "" {
			ids = append(ids, c.subject.AvatarID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	locked := make(map[string]bool)
	err := tx.query(ctx, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		locked[id] = true
		return err
	}, `SELECT id FROM subjects WHERE id = ANY($1) AND deleted_at IS NULL ORDER BY id`+tx.forUpdate()+` SKIP LOCKED`, ids)
	for _, c := range group {
		c.alone = c.alone || c.subject.AvatarID != "" && !locked[c.subject.AvatarID]
	}
	return err
}
