package store

import (
	"context"
	"errors"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (s *Store) AddRefreshToken(ctx context.Context, token studio.RefreshToken, passwordHash string) error {
	return s.write(ctx, func(tx transaction) error {
		err := lockUser(ctx, tx, `id = $1 AND password_hash = $2 AND disabled_at IS NULL`, token.UserID, passwordHash)
		if errors.Is(err, studio.ErrNotFound) {
			return studio.ErrUnauthorized
		}
		if err == nil {
			err = addRefreshToken(ctx, tx, token)
		}
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, `DELETE FROM refresh_tokens WHERE family IN (SELECT family FROM refresh_tokens
			WHERE user_id = $1 AND used = 0 ORDER BY expires_at DESC, hash LIMIT 1000000000 OFFSET $2)`, // SQLite has no OFFSET without LIMIT
			token.UserID, studio.MaxSessions)
		return err
	})
}

func addRefreshToken(ctx context.Context, tx transaction, token studio.RefreshToken) error {
	_, err := tx.exec(ctx, `INSERT INTO refresh_tokens (hash, family, user_id, expires_at) VALUES ($1, $2, $3, $4)`,
		token.Hash, token.Family, token.UserID, micros(token.ExpiresAt))
	return err
}

func (s *Store) RotateRefreshToken(
	ctx context.Context, hash []byte, now time.Time, next studio.RefreshToken,
) (userID string, err error) {
	stolen := false
	err = s.write(ctx, func(tx transaction) error {
		stolen = false
		err := lockUser(ctx, tx, `id = (SELECT user_id FROM refresh_tokens WHERE hash = $1)`, hash)
		if err != nil && !errors.Is(err, studio.ErrNotFound) {
			return err
		}
		var used int
		var expires time.Time
		err = queryRow(ctx, tx, []any{&next.Family, &next.UserID, instant{&expires}, &used},
			`SELECT family, user_id, expires_at, used FROM refresh_tokens WHERE hash = $1`, hash)
		switch {
		case errors.Is(err, studio.ErrNotFound) || err == nil && !expires.After(now):
			return studio.ErrUnauthorized
		case err != nil:
			return err
		case used != 0:
			stolen = true // an error here would roll the deletion back
			_, err := tx.exec(ctx, `DELETE FROM refresh_tokens WHERE family = $1`, next.Family)
			return err
		}
		if _, err := tx.exec(ctx, `UPDATE refresh_tokens SET used = 1 WHERE hash = $1`, hash); err != nil {
			return err
		}
		return addRefreshToken(ctx, tx, next)
	})
	if err == nil && stolen {
		err = studio.ErrUnauthorized
	}
	return next.UserID, err
}

func (s *Store) UserByRefreshToken(ctx context.Context, hash []byte, now time.Time) (user studio.User, err error) {
	err = queryRow(ctx, s.engine, []any{&user.ID, &user.Email, &user.Role, instant{&user.CreatedAt}}, `SELECT u.id, u.email, u.role, u.created_at
		FROM refresh_tokens t JOIN users u ON u.id = t.user_id
		WHERE t.hash = $1 AND t.used = 0 AND t.expires_at > $2 AND u.deleted_at IS NULL AND u.disabled_at IS NULL`, hash, micros(now))
	return user, err
}

func (s *Store) DeleteFamily(ctx context.Context, hash []byte) error {
	return s.exec(ctx, `DELETE FROM refresh_tokens WHERE family = (SELECT family FROM refresh_tokens WHERE hash = $1)`, hash)
}

func (s *Store) UnusedRefreshTokens(ctx context.Context, userID string, now time.Time) ([]studio.RefreshToken, error) {
	return queryRows(ctx, s.engine, func(t *studio.RefreshToken) []any {
		return []any{&t.Hash, &t.Family, &t.UserID, instant{&t.ExpiresAt}}
	}, `SELECT hash, family, user_id, expires_at FROM refresh_tokens WHERE user_id = $1 AND used = 0 AND expires_at > $2
		ORDER BY expires_at DESC, hash`, userID, micros(now))
}

func (s *Store) DeleteFamilyOf(ctx context.Context, userID, family string) error {
	return s.execFound(ctx, `DELETE FROM refresh_tokens WHERE family = $1 AND user_id = $2`, family, userID)
}

func (s *Store) RevokeTokens(ctx context.Context, userID string, now time.Time) error {
	return s.write(ctx, func(tx transaction) error {
		if err := lockUser(ctx, tx, `id = $1`, userID); err != nil {
			return err
		}
		return revokeTokens(ctx, tx, userID, now)
	})
}

func revokeTokens(ctx context.Context, tx transaction, userID string, now time.Time) error {
	return tx.execAll(ctx, []statement{
		{`DELETE FROM refresh_tokens WHERE user_id = $1`, []any{userID}},
		{`DELETE FROM known_addresses WHERE user_id = $1`, []any{userID}},
		{`INSERT INTO revocations (user_id, revoked_at) VALUES ($1, $2)
			ON CONFLICT (user_id) DO UPDATE SET revoked_at = $2`, []any{userID, micros(now)}},
	})
}

// Revocations returns, by user, the times at which access tokens were revoked, if they are later than after.
func (s *Store) Revocations(ctx context.Context, after time.Time) (map[string]time.Time, error) {
	revoked := make(map[string]time.Time)
	err := s.engine.query(ctx, func(scan func(...any) error) error {
		var user string
		var at time.Time
		err := scan(&user, instant{&at})
		revoked[user] = at
		return err
	}, `SELECT user_id, revoked_at FROM revocations WHERE revoked_at > $1`, micros(after))
	return revoked, err
}
