package store

import (
	"bytes"
	"context"
	"slices"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// creation is a new subject.
type creation struct {
	keyed

	subject studio.Subject
	earlier *studio.Subject // the subject that was created with the key before
}

func (s *Store) CreateSubject(
	ctx context.Context, subject studio.Subject, key studio.IdempotencyKey,
) (studio.Subject, error) {
	c := &creation{keyed: newKeyed(subject.UserID, key), subject: subject}
	err := writeGrouped(ctx, s, s.creations, s.createSubjects, c)
	if c.earlier != nil {
		subject = *c.earlier
	}
	return subject, err
}

// createSubjects is a groupWrite. A creation is made alone if its idempotency key is in use or was used before, if its
// avatar is locked or deleted, or if its user is not a member of its workspace.
func (s *Store) createSubjects(ctx context.Context, tx transaction, group []*creation, alone bool) error {
	keys := make([]*keyed, len(group))
	for i, c := range group {
		c.earlier, keys[i] = nil, &c.keyed
	}
	if err := lockKeys(ctx, tx, keys); err != nil {
		return err
	}
	if first := group[0]; alone && (first.err != nil || first.keyUse.valid()) {
		return first.repeat(ctx, tx)
	}
	for _, c := range group {
		if c.err == nil && c.keyUse.valid() {
			c.err = errAlone
		}
	}
	if err := lockAvatars(ctx, tx, made(group), alone); err != nil {
		return err
	}
	return s.writeCreations(ctx, tx, made(group))
}

// made returns the creations without an error.
func made(group []*creation) []*creation {
	return slices.DeleteFunc(slices.Clone(group), func(c *creation) bool { return c.err != nil })
}

func (s *Store) CreatedSubject(ctx context.Context, userID string, key studio.IdempotencyKey) (studio.Subject, error) {
	c := &creation{keyed: newKeyed(userID, key)}
	err := s.write(ctx, func(tx transaction) error {
		c.err = nil
		if err := lockKeys(ctx, tx, []*keyed{&c.keyed}); err != nil {
			return err
		}
		return c.repeat(ctx, tx)
	})
	if err != nil {
		return studio.Subject{}, err
	}
	return *c.earlier, nil
}

// repeat sets the subject that was created with the idempotency key. Its work is due again, because the first answer
// may have failed.
func (c *creation) repeat(ctx context.Context, tx transaction) error {
	switch {
	case c.err != nil:
		return c.err
	case !c.keyUse.valid():
		return studio.ErrNotFound
	case !bytes.Equal(c.keyUse.fingerprint, c.key.Fingerprint):
		return studio.ErrKeyReused
	}
	c.earlier = new(studio.Subject)
	err := queryRow(ctx, tx, subjectDest(c.earlier), `SELECT `+subjectColumns+` FROM subjects s WHERE s.id = $1`, c.keyUse.id)
	if err != nil {
		return err
	}
	tx.mark(SignalDue, Flow{c.earlier.UserID, studio.Origin(c.earlier.WebhookURL)}.key())
	if !c.earlier.RenderAt.IsZero() {
		tx.mark(SignalRender, "")
	}
	return nil
}

// findIDs finds the subjects that are not deleted.
//
//nolint:gochecknoglobals // a constant
var findIDs = newRowStatement(`id text`, func(id string) []any { return []any{id} },
	func(sql dialect) string {
		return `SELECT s.id FROM subjects s WHERE ` + sql.in("s.id", `SELECT r.id FROM r`) + ` AND ` + notDeleted
	})

// lockAvatars locks the avatars of new videos, so that they are not deleted before the videos are inserted. The error
// of a creation is studio.ErrNotFound if its avatar is deleted, or locked unless the transaction waits for locks.
func lockAvatars(ctx context.Context, tx transaction, group []*creation, wait bool) error {
	videos := slices.DeleteFunc(group, func(c *creation) bool { return c.subject.AvatarID == "" })
	if len(videos) == 0 {
		return nil
	}
	ids := make([]string, len(videos))
	for i, c := range videos {
		ids[i] = c.subject.AvatarID
	}
	find := findIDs.with(tx, ids...)[0]
	locked, err := queryRows(ctx, tx, oneColumn[string], find.query+tx.lockSubjects(wait), find.args...)
	for _, c := range videos {
		if !slices.Contains(locked, c.subject.AvatarID) {
			c.err = studio.ErrNotFound
		}
	}
	return err
}
