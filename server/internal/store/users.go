package store

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Empty reports whether there is no user yet.
func (s *Store) Empty(ctx context.Context) (bool, error) {
	var users int
	err := one(ctx, s.engine, []any{&users}, `SELECT COUNT(*) FROM (SELECT 1 FROM users LIMIT 1) AS found`)
	return users == 0, err
}

func (s *Store) CreateUser(ctx context.Context, user studio.User) error {
	return s.write(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, `INSERT INTO users (id, email, password_hash, created_at) VALUES ($1, $2, $3, $4)`,
			user.ID, user.Email, user.PasswordHash, micros(user.CreatedAt))
		return err
	})
}

func (s *Store) UserByEmail(ctx context.Context, email string) (studio.User, error) {
	user := studio.User{Email: email}
	err := one(ctx, s.engine, []any{&user.ID, &user.PasswordHash, instant{&user.CreatedAt}},
		`SELECT id, password_hash, created_at FROM users WHERE email = $1 AND deleted_at IS NULL`, email)
	return user, err
}

// lockUser waits for its turn to change what belongs to the user of a condition: what is read after
// it cannot change before the commit.
func lockUser(ctx context.Context, tx transaction, condition string, args ...any) error {
	var id string
	return one(ctx, tx, []any{&id}, `SELECT id FROM users WHERE `+condition+tx.forUpdate(), args...)
}

func (s *Store) SetPassword(ctx context.Context, userID, hash string, now time.Time) error {
	return s.write(ctx, func(tx transaction) error {
		updated, err := tx.exec(ctx, `UPDATE users SET password_hash = $2 WHERE id = $1 AND deleted_at IS NULL`, userID, hash)
		if err == nil && updated == 0 {
			err = studio.ErrNotFound
		}
		if err != nil {
			return err
		}
		return revokeTokens(ctx, tx, userID, now)
	})
}

// DeleteUser keeps the id of the user, to which the rows of subjects refer until they are pruned.
func (s *Store) DeleteUser(ctx context.Context, userID string, now time.Time) (subjects, uploads []string, err error) {
	var lines []Line
	err = s.write(ctx, func(tx transaction) error {
		subjects, uploads, lines = nil, nil, nil
		if err := lockUser(ctx, tx, `id = $1 AND deleted_at IS NULL`, userID); err != nil {
			return err
		}
		err := tx.query(ctx, func(scan func(...any) error) error {
			line := Line{UserID: userID}
			var id string
			err := scan(&id, &line.Origin)
			subjects, lines = append(subjects, id), append(lines, line)
			return err
		}, `SELECT id, origin FROM subjects WHERE user_id = $1 AND deleted_at IS NULL`, userID)
		if err != nil {
			return err
		}
		err = tx.query(ctx, func(scan func(...any) error) error {
			var key string
			err := scan(&key)
			uploads = append(uploads, key)
			return err
		}, `SELECT key FROM uploads WHERE user_id = $1`, userID)
		if err != nil {
			return err
		}
		_, err = tx.execAll(ctx, []statement{
			{`UPDATE events SET state = 'exhausted', ended_at = COALESCE(ended_at, $2), due_at = NULL, reason = $3 WHERE state <> 'delivered'
				AND subject_id IN (SELECT id FROM subjects WHERE user_id = $1 AND deleted_at IS NULL)`, []any{userID, micros(now), string(ReasonDeleted)}},
			{`UPDATE subjects SET deleted_at = $2, title = NULL, request = '{}', webhook_url = '', failure_reason = '',
				rendering = '{}', render_at = NULL, deliver_at = NULL WHERE user_id = $1 AND deleted_at IS NULL`, []any{userID, micros(now)}},
			{`DELETE FROM idempotency_keys WHERE user_id = $1`, []any{userID}},
			{`DELETE FROM uploads WHERE user_id = $1`, []any{userID}},
			{`DELETE FROM webhook_secrets WHERE user_id = $1`, []any{userID}},
			{`DELETE FROM endpoints WHERE user_id = $1`, []any{userID}},
			{`DELETE FROM members WHERE user_id = $1`, []any{userID}},
			{`UPDATE users SET deleted_at = $2, email = 'deleted ' || id, password_hash = '' WHERE id = $1`, []any{userID, micros(now)}},
		})
		if err != nil {
			return err
		}
		return revokeTokens(ctx, tx, userID, now)
	})
	if err == nil {
		s.signal(s.deleted, lines)
	}
	return subjects, uploads, err
}
