package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// creationQueueWait is how long a group may take before another group starts concurrently. One group at a
	// time is cheaper, because concurrent transactions share the lock on the row of a user.
	creationQueueWait = 100 * time.Millisecond
	// maxCreationGroup bounds the creations of a group.
	maxCreationGroup = 128
)

// creation is a new subject.
type creation struct {
	groupMember

	subject studio.Subject
	key     studio.IdempotencyKey
	keyHash []byte // nil without a key
	keyUse  keyUse
	earlier *studio.Subject // the subject that was created with the key before
}

// keyUse is an earlier use of an idempotency key, or its zero value.
type keyUse struct {
	subjectID   string
	fingerprint []byte
	expired     bool
}

func (s *Store) newCreationQueue() *commitQueue[*creation] {
	return &commitQueue[*creation]{
		commit: func(group []*creation) { commitGroup(s, group, createSubjects) }, limit: maxCreationGroup,
		slots: make(chan struct{}, 1), extraSlot: make(chan struct{}, 1), maxQueueWait: creationQueueWait,
	}
}

func (s *Store) CreateSubject(
	ctx context.Context, subject studio.Subject, key studio.IdempotencyKey,
) (studio.Subject, error) {
	c := &creation{groupMember: newGroupMember(), subject: subject, key: key, keyHash: keyHash(subject.UserID, key.Key)}
	err := writeGrouped(ctx, s, s.creations, createSubjects, c)
	if c.earlier != nil {
		subject = *c.earlier
	}
	return subject, err
}

// createSubjects is a groupWrite. A creation is made alone if its idempotency key is in use or was used before, or if
// its avatar is locked or deleted.
func createSubjects(ctx context.Context, tx transaction, group []*creation, wait bool) error {
	if err := lockKeys(ctx, tx, group); err != nil {
		return err
	}
	if err := lockAvatars(ctx, tx, group, wait); err != nil {
		return err
	}
	if wait && group[0].keyUse.subjectID != "" && !group[0].keyUse.expired {
		return group[0].repeat(ctx, tx)
	}
	return writeCreations(ctx, tx, slices.DeleteFunc(slices.Clone(group), func(c *creation) bool { return c.alone }))
}

// repeat sets the subject that was created with the idempotency key. Its work is due again, because the first answer
// may have failed.
func (c *creation) repeat(ctx context.Context, tx transaction) error {
	if !bytes.Equal(c.keyUse.fingerprint, c.key.Fingerprint) {
		return studio.ErrKeyReused
	}
	earlier, err := subjectByID(ctx, tx, c.keyUse.subjectID)
	switch {
	case errors.Is(err, studio.ErrNotFound):
		return studio.ErrKeySpent
	case err != nil:
		return err
	}
	c.earlier = &earlier
	tx.markDeliveryDue(Flow{earlier.UserID, studio.Origin(earlier.WebhookURL)})
	if !earlier.RenderAt.IsZero() {
		tx.markRenderDue()
	}
	return nil
}

// keyLockName returns the name that a creation with an idempotency key locks.
func (c *creation) keyLockName() string {
	return "idempotency key " + c.subject.UserID + " " + c.key.Key
}

// keyHash returns the hash that identifies an idempotency key of a user, or nil if there is none. A column of its own lets
// the planner of PostgreSQL find subjects by nothing else.
func keyHash(userID, key string) []byte {
	if key == "" {
		return nil
	}
	hash := sha256.Sum256([]byte(userID + " " + key))
	return hash[:]
}

// The statements about earlier uses of idempotency keys.
//
//nolint:gochecknoglobals // constants
var (
	findKeys = newRowStatement(`key_hash bytea`, func(c *creation) []any { return []any{c.keyHash} }, func(sql dialect, _ []string) string {
		return `SELECT key_hash, id, fingerprint, created_at FROM subjects WHERE ` + sql.in("key_hash", `SELECT r.key_hash FROM r WHERE TRUE`)
	})
	forgetKeys = newRowStatement(`id text`, func(c *creation) []any { return []any{c.keyUse.subjectID} }, func(sql dialect, _ []string) string {
		return `UPDATE subjects SET key_hash = NULL, fingerprint = NULL WHERE ` + sql.in("id", `SELECT r.id FROM r WHERE TRUE`)
	})
)

// lockKeys locks the idempotency keys of creations until the end of the transaction, and sets their earlier uses. A
// creation must be made alone if its key is in use, was used before, or is the key of another member.
func lockKeys(ctx context.Context, tx transaction, group []*creation) error {
	members := make(map[string]*creation) // by the hash of the key
	var names []string
	var keyed []*creation
	for _, c := range group {
		c.keyUse, c.earlier = keyUse{}, nil
		if c.key.Key == "" {
			continue
		}
		hash := string(c.keyHash)
		if c.alone = members[hash] != nil; !c.alone {
			members[hash] = c
			names, keyed = append(names, c.keyLockName()), append(keyed, c)
		}
	}
	if len(keyed) == 0 {
		return nil
	}
	locked, err := tx.tryLock(ctx, names)
	for i, c := range keyed {
		if !slices.Contains(locked, names[i]) {
			c.alone, c.err = true, studio.ErrKeyInUse
		}
	}
	if err != nil {
		return err
	}
	find := findKeys.with(tx, keyed...)[0]
	return tx.query(ctx, func(scan func(...any) error) error {
		var hash []byte
		var use keyUse
		var at time.Time
		err := scan(&hash, &use.subjectID, &use.fingerprint, instant{&at})
		c := members[string(hash)]
		use.expired = !at.After(c.key.After)
		c.alone, c.keyUse = c.alone || !use.expired, use
		return err
	}, find.query, find.args...)
}

// findAvatars finds the avatars of creations that are not deleted.
//
//nolint:gochecknoglobals // a constant
var findAvatars = newRowStatement(`id text`, func(c *creation) []any { return []any{c.subject.AvatarID} },
	func(sql dialect, _ []string) string {
		return `SELECT s.id FROM subjects s WHERE ` + sql.in("s.id", `SELECT r.id FROM r WHERE TRUE`) + ` AND ` + notDeleted
	})

// lockAvatars locks the avatars of new videos, so that they are not deleted before the videos are inserted. A creation
// must be made alone if its avatar is locked or deleted.
func lockAvatars(ctx context.Context, tx transaction, group []*creation, wait bool) error {
	videos := slices.DeleteFunc(slices.Clone(group), func(c *creation) bool { return c.alone || c.subject.AvatarID == "" })
	if len(videos) == 0 {
		return nil
	}
	find := findAvatars.with(tx, videos...)[0]
	locked, err := queryRows(ctx, tx, oneColumn[string], find.query+tx.lockSubjects(wait), find.args...)
	for _, c := range videos {
		if !slices.Contains(locked, c.subject.AvatarID) {
			c.alone, c.err = true, studio.ErrNotFound
		}
	}
	return err
}
