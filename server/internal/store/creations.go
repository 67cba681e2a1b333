package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// creationQueueWait is how long a group may take before another group starts concurrently. One group at a
	// time is cheaper, because concurrent transactions share the lock on the row of a user.
	creationQueueWait = 100 * time.Millisecond
	// maxCreationGroup bounds the creations of a group.
	maxCreationGroup = 128
)

// creation is a subject that waits for its group.
type creation struct {
	subject     studio.Subject
	key         studio.IdempotencyKey
	span        trace.Span
	createAlone bool // the subject must be created outside the group
	err         error
	done        chan struct{} // closed when createAlone and err are set
}

func (s *Store) newCreationQueue() *commitQueue[*creation] {
	return &commitQueue[*creation]{
		commit: s.commitCreations, limit: maxCreationGroup,
		slots: make(chan struct{}, 1), extraSlot: make(chan struct{}, 1), maxQueueWait: creationQueueWait,
	}
}

// createInGroup creates a subject by group commit, on PostgreSQL. On SQLite, write does this for every
// change. It reports whether the subject must be created alone.
//
// A group inserts many rows with each statement. A creation leaves the group and is created alone if it
// fails, if its idempotency key was used before or is in use, or if its avatar is locked or deleted.
func (s *Store) createInGroup(ctx context.Context, subject studio.Subject, key studio.IdempotencyKey) (alone bool, err error) {
	ctx, span := s.startSpan(ctx, "create in group commit")
	defer span.End()
	c := &creation{subject: subject, key: key, span: span, done: make(chan struct{})}
	timeoutContext, cancel := context.WithTimeoutCause(ctx, acquireTimeout, errNoConnection)
	defer cancel()
	s.creations.add(c)
	select {
	case <-c.done:
	case <-timeoutContext.Done():
		if s.creations.remove(c) {
			return false, s.domainError(context.Cause(timeoutContext))
		}
		<-c.done // the group has begun, so the creation cannot be canceled
	}
	return c.createAlone, c.err
}

// commitCreations creates the subjects of a group. It ignores the contexts of the members, so that none
// cancels the others.
func (s *Store) commitCreations(group []*creation) {
	ctx := groupContext(group[0].span)
	err := s.write(ctx, func(tx transaction) error { return createGroup(ctx, tx, group) })
	for _, c := range group {
		if err != nil {
			c.createAlone = len(group) > 1 && !errors.Is(err, studio.ErrBusy) // another member may be the cause
			c.err = err
		}
		close(c.done)
	}
}

// createGroup inserts the members that need only inserts, and sets createAlone on the others.
func createGroup(ctx context.Context, tx transaction, group []*creation) error {
	for _, c := range group {
		c.createAlone = false
	}
	if err := lockKeys(ctx, tx, group); err != nil {
		return err
	}
	if err := lockAvatars(ctx, tx, group); err != nil {
		return err
	}
	rows := newCreationRows(slices.DeleteFunc(slices.Clone(group), func(c *creation) bool { return c.createAlone }))
	if len(rows.ids) == 0 {
		return nil
	}
	statements := []statement{rows.insertSubjects(tx)}
	if len(rows.keyed) > 0 {
		statements = append(statements, rows.insertKeys())
	}
	if _, err := tx.execAll(ctx, append(statements, rows.events.insert()...)); err != nil {
		return err
	}
	markDue(tx, rows.renderDue, rows.events.flows)
	return nil
}

// markDue marks renderings and flows as due, for the signals after the commit.
func markDue(tx transaction, renderDue bool, flows []Flow) {
	if renderDue {
		tx.markRenderDue()
	}
	for _, flow := range flows {
		tx.markDeliveryDue(flow)
	}
}

// lockKeys locks the idempotency keys of a group. It sets createAlone on members whose key is in use, was
// used before, or is the key of another member.
func lockKeys(ctx context.Context, tx transaction, group []*creation) error {
	members := make(map[string]*creation)
	var names, users, keys []string
	var after []int64
	for _, c := range group {
		if c.key.Key == "" {
			continue
		}
		name := keyLockName(c.subject.UserID, c.key)
		if c.createAlone = members[name] != nil; c.createAlone {
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
			members[names[i-1]].createAlone = true
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

// lockAvatars is lockAvatar for a group. It waits for no lock: it sets createAlone on members whose avatar
// is locked or deleted.
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
		c.createAlone = c.createAlone || c.subject.AvatarID != "" && !locked[c.subject.AvatarID]
	}
	return err
}
