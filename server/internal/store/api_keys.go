package store

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (s *Store) AddAPIKey(ctx context.Context, key studio.APIKey, limit int) error {
	return s.writeOf(ctx, key.UserID, func(tx transaction) error {
		if key.WorkspaceID != "" {
			if err := checkMember(ctx, tx, key.WorkspaceID, key.UserID); err != nil {
				return err
			}
		}
		var keys int
		if err := queryRow(ctx, tx, []any{&keys}, `SELECT COUNT(*) FROM api_keys WHERE user_id = $1`, key.UserID); err != nil {
			return err
		}
		if keys >= limit {
			return studio.ErrTooManyAPIKeys
		}
		_, err := tx.exec(ctx, `INSERT INTO api_keys (id, user_id, name, hash, read_only, workspace_id, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			key.ID, key.UserID, key.Name, key.Hash, flag(key.ReadOnly), key.WorkspaceID, micros(key.CreatedAt), micros(key.ExpiresAt))
		return err
	})
}

func (s *Store) APIKeys(ctx context.Context, userID string) ([]studio.APIKey, error) {
	return queryRows(ctx, s.engine, apiKeyDest, `SELECT `+keyColumns+` FROM api_keys k WHERE k.user_id = $1 ORDER BY k.id DESC`, userID)
}

func (s *Store) APIKey(ctx context.Context, hash []byte) (key studio.APIKey, err error) {
	err = queryRow(ctx, s.engine, apiKeyDest(&key), `SELECT `+keyColumns+` FROM api_keys k JOIN users u ON u.id = k.user_id
		WHERE k.hash = $1 AND u.disabled_at IS NULL AND (k.workspace_id = ''
			OR EXISTS (SELECT 1 FROM members m WHERE m.workspace_id = k.workspace_id AND m.user_id = k.user_id))`, hash)
	return key, err
}

// keyColumns are the columns of api_keys k that apiKeyDest stores.
const keyColumns = `k.id, k.user_id, k.name, k.hash, k.read_only <> 0, k.workspace_id, k.created_at, k.expires_at, k.used_at`

func apiKeyDest(k *studio.APIKey) []any {
	return []any{
		&k.ID, &k.UserID, &k.Name, &k.Hash, &k.ReadOnly, &k.WorkspaceID, instant{&k.CreatedAt}, instant{&k.ExpiresAt}, instant{&k.UsedAt},
	}
}

func (s *Store) UseAPIKey(ctx context.Context, id string, at time.Time) error {
	return s.exec(ctx, `UPDATE api_keys SET used_at = $2 WHERE id = $1 AND COALESCE(used_at, 0) < $2`, id, micros(at))
}

func (s *Store) DeleteAPIKey(ctx context.Context, userID, id string) error {
	return s.execFound(ctx, `DELETE FROM api_keys WHERE id = $1 AND user_id = $2`, id, userID)
}
