package store

import (
	"context"
	"errors"
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
		`SELECT id, password_hash, created_at FROM users WHERE email = $1`, email)
	return user, err
}

// lockUser waits for its turn to change what belongs to the user of a condition: what is read after
// it cannot change before the commit.
func lockUser(ctx context.Context, tx transaction, condition string, args ...any) error {
	var id string
	return one(ctx, tx, []any{&id}, `SELECT id FROM users WHERE `+condition+tx.forUpdate(), args...)
}

func (s *Store) SetPassword(ctx context.Context, userID, hash string) error {
	return s.write(ctx, func(tx transaction) error {
		updated, err := tx.exec(ctx, `UPDATE users SET password_hash = $2 WHERE id = $1`, userID, hash)
		if err != nil {
			return err
		}
		if updated == 0 {
			return studio.ErrNotFound
		}
		_, err = tx.exec(ctx, `DELETE FROM refresh_tokens WHERE user_id = $1`, userID)
		return err
	})
}

func (s *Store) LoginTries(
	ctx context.Context, account string, after time.Time,
) (tries int, began time.Time, err error) {
	err = one(ctx, s.engine, []any{&tries, instant{&began}},
		`SELECT tries, began_at FROM login_tries WHERE account = $1 AND began_at > $2`, account, micros(after))
	if errors.Is(err, studio.ErrNotFound) {
		err = nil
	}
	return tries, began, err
}

func (s *Store) CountLoginTry(ctx context.Context, account string, now, after time.Time) error {
	return s.write(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, `
			INSERT INTO login_tries AS l (account, tries, began_at) VALUES ($1, 1, $2)
			ON CONFLICT (account) DO UPDATE SET
				tries = CASE WHEN l.began_at <= $3 THEN 1 ELSE l.tries + 1 END,
				began_at = CASE WHEN l.began_at <= $3 THEN $2 ELSE l.began_at END`,
			account, micros(now), micros(after))
		return err
	})
}

func (s *Store) ForgetLoginTries(ctx context.Context, account string) error {
	return s.write(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, `DELETE FROM login_tries WHERE account = $1`, account)
		return err
	})
}
