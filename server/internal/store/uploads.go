package store

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (s *Store) AddUpload(ctx context.Context, u studio.Upload, limit int64) error {
	return s.writeOf(ctx, u.UserID, func(tx transaction) error {
		bytes, err := uploadedBytes(ctx, tx, u.UserID, u.CreatedAt)
		if err != nil {
			return err
		}
		if bytes > limit-u.Size {
			return studio.ErrTooMuchMedia
		}
		_, err = tx.exec(ctx, `INSERT INTO uploads (id, user_id, key, content_type, size, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			u.ID, u.UserID, u.Key, u.ContentType, u.Size, micros(u.CreatedAt), micros(u.ExpiresAt))
		return err
	})
}

func (s *Store) UploadedBytes(ctx context.Context, userID string, now time.Time) (int64, error) {
	return uploadedBytes(ctx, s.engine, userID, now)
}

func uploadedBytes(ctx context.Context, q querier, userID string, now time.Time) (bytes int64, err error) {
	err = queryRow(ctx, q, []any{&bytes},
		`SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM uploads WHERE user_id = $1 AND expires_at > $2`, userID, micros(now))
	return bytes, err
}

func (s *Store) Upload(ctx context.Context, id string) (u studio.Upload, err error) {
	err = queryRow(ctx, s.engine, []any{&u.ID, &u.UserID, &u.Key, &u.ContentType, &u.Size, instant{&u.CreatedAt}, instant{&u.ExpiresAt}},
		`SELECT id, user_id, key, content_type, size, created_at, expires_at FROM uploads WHERE id = $1`, id)
	return u, err
}
