package store

import (
	"context"
	"errors"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (s *Store) AddRefreshToken(ctx context.Context, token studio.RefreshToken, passwordHash string, now time.Time) error {
	return s.write(ctx, func(tx transaction) error {
		err := lockUser(ctx, tx, `id = $1 AND password_hash = $2 AND disabled_at IS NULL`, token.UserID, passwordHash)
		if errors.Is(err, studio.ErrNotFound) {
			err = studio.ErrUnauthorized
		}
		if err != nil {
			return err
		}
		excess, err := queryRows(ctx, tx, oneColumn[string], `SELECT family FROM refresh_tokens
			WHERE user_id = $1 AND used = 0 ORDER BY expires_at DESC, hash LIMIT 1000000000 OFFSET $2`, // SQLite has no OFFSET without LIMIT
			token.UserID, studio.MaxSessions-1)
		changes := insertSession(token)
		for _, family := range excess {
			changes = append(changes, endSession(tx, family, now)...)
		}
		if err != nil {
			return err
		}
		return tx.execAll(ctx, changes)
	})
}

// insertSession adds a token, or nothing if it is zero.
func insertSession(token studio.RefreshToken) []statement {
	if token.Hash == nil {
		return nil
	}
	return []statement{{
		`INSERT INTO refresh_tokens (hash, family, user_id, expires_at) VALUES ($1, $2, $3, $4)`,
		[]any{token.Hash, token.Family, token.UserID, micros(token.ExpiresAt)},
	}}
}

func (s *Store) RotateRefreshToken(
	ctx context.Context, hash []byte, now time.Time, next studio.RefreshToken,
) (studio.RefreshToken, error) {
	stolen := false
	err := s.write(ctx, func(tx transaction) error {
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
			return tx.execAll(ctx, endSession(tx, next.Family, now))
		}
		return tx.execAll(ctx, append([]statement{{`UPDATE refresh_tokens SET used = 1 WHERE hash = $1`, []any{hash}}}, insertSession(next)...))
	})
	if err == nil && stolen {
		err = studio.ErrUnauthorized
	}
	return next, err
}

func (s *Store) UserByRefreshToken(ctx context.Context, hash []byte, now time.Time) (user studio.User, family string, err error) {
	err = queryRow(ctx, s.engine, []any{&user.ID, &user.Email, &user.Role, instant{&user.CreatedAt}, &family}, `SELECT u.id, u.email, u.role, u.created_at, t.family
		FROM refresh_tokens t JOIN users u ON u.id = t.user_id
		WHERE t.hash = $1 AND t.used = 0 AND t.expires_at > $2 AND u.deleted_at IS NULL AND u.disabled_at IS NULL`, hash, micros(now))
	return user, family, err
}

// DeleteFamily first looks for the token without a transaction, because anyone may send tokens.
func (s *Store) DeleteFamily(ctx context.Context, hash []byte, now time.Time) error {
	var userID, family string
	err := queryRow(ctx, s.engine, []any{&userID, &family}, `SELECT user_id, family FROM refresh_tokens WHERE hash = $1`, hash)
	if err == nil {
		err = s.DeleteFamilyOf(ctx, userID, family, now)
	}
	return orZero(err)
}

func (s *Store) UnusedRefreshTokens(ctx context.Context, userID string, now time.Time) ([]studio.RefreshToken, error) {
	return queryRows(ctx, s.engine, func(t *studio.RefreshToken) []any {
		return []any{&t.Hash, &t.Family, &t.UserID, instant{&t.ExpiresAt}}
	}, `SELECT hash, family, user_id, expires_at FROM refresh_tokens WHERE user_id = $1 AND used = 0 AND expires_at > $2
		ORDER BY expires_at DESC, hash`, userID, micros(now))
}

func (s *Store) DeleteFamilyOf(ctx context.Context, userID, family string, now time.Time) error {
	return s.write(ctx, func(tx transaction) error {
		// The lock waits for a rotation, whose token would otherwise survive.
		err := lockUser(ctx, tx, `id = (SELECT user_id FROM refresh_tokens WHERE family = $1 AND user_id = $2 LIMIT 1)`, family, userID)
		if err != nil {
			return err
		}
		return tx.execAll(ctx, endSession(tx, family, now))
	})
}

// endSession returns the statements that delete the unused token of a session and revoke its access tokens. Used ones,
// of which there may be many, are refused until Prune deletes them. The caller has locked the user.
func endSession(tx transaction, family string, now time.Time) []statement {
	tx.markRevoked(family, now)
	return []statement{
		{`DELETE FROM refresh_tokens WHERE family = $1 AND used = 0`, []any{family}},
		{`INSERT INTO revocations (id, revoked_at) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET revoked_at = $2`, []any{family, micros(now)}},
	}
}

func (s *Store) RevokeTokens(ctx context.Context, userID string, now time.Time) error {
	return s.writeOf(ctx, userID, func(tx transaction) error { return revokeTokens(ctx, tx, userID, now) })
}

// revokeTokens makes changes, and ends the sessions of a user, who is locked. Each session is revoked by its ID, so it
// does not matter whether the clocks of daemons differ, or are set back.
func revokeTokens(ctx context.Context, tx transaction, userID string, now time.Time, changes ...statement) error {
	families, err := queryRows(ctx, tx, oneColumn[string], `SELECT family FROM refresh_tokens WHERE user_id = $1 AND used = 0`, userID)
	if err != nil {
		return err
	}
	for _, family := range families {
		changes = append(changes, endSession(tx, family, now)...)
	}
	return tx.execAll(ctx, append(changes, statement{`DELETE FROM known_addresses WHERE user_id = $1`, []any{userID}}))
}

// Revocations returns when sessions ended whose access tokens were revoked, by their ids, if that was later than after.
func (s *Store) Revocations(ctx context.Context, after time.Time) (map[string]time.Time, error) {
	return queryMap(ctx, s.engine, oneInstant, `SELECT id, revoked_at FROM revocations WHERE revoked_at > $1`, micros(after))
}
