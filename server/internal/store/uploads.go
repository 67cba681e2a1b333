package store

import (
	"context"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (s *Store) AddUpload(ctx context.Context, u studio.Upload) error {
	return s.write(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, `INSERT INTO uploads (id, user_id, key, content_type, size, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			u.ID, u.UserID, u.Key, u.ContentType, u.Size, micros(u.CreatedAt), micros(u.ExpiresAt))
		return err
	})
}

func (s *Store) Upload(ctx context.Context, id string) (u studio.Upload, err error) {
	err = one(ctx, s.engine, []any{&u.ID, &u.UserID, &u.Key, &u.ContentType, &u.Size, instant{&u.CreatedAt}, instant{&u.ExpiresAt}},
		`SELECT id, user_id, key, content_type, size, created_at, expires_at FROM uploads WHERE id = $1`, id)
	return u, err
}
