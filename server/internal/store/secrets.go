package store

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (s *Store) WebhookSecrets(ctx context.Context, userID string, now time.Time) ([]studio.WebhookSecret, error) {
	return s.webhookSecrets(ctx, s.engine, userID, now)
}

func (s *Store) webhookSecrets(ctx context.Context, q querier, userID string, now time.Time) ([]studio.WebhookSecret, error) {
	var secrets []studio.WebhookSecret
	err := q.query(ctx, func(scan func(...any) error) error {
		var secret studio.WebhookSecret
		var id int64
		err := scan(&id, &secret.Secret, instant{&secret.ExpiresAt})
		if err == nil {
			secret.Secret, err = s.keys.Open(secret.Secret, secretPlace(id, userID))
		}
		secrets = append(secrets, secret)
		return err
	}, `SELECT id, secret, expires_at FROM webhook_secrets WHERE user_id = $1 AND (expires_at IS NULL OR expires_at > $2) ORDER BY id DESC`,
		userID, micros(now))
	return secrets, err
}

func (s *Store) AddWebhookSecret(
	ctx context.Context, userID, secret string, now, oldEnd time.Time, limit int,
) error {
	return s.writeOf(ctx, userID, func(tx transaction) error {
		secrets, err := s.webhookSecrets(ctx, tx, userID, now)
		if err != nil {
			return err
		}
		if n := len(secrets); n >= limit {
			return studio.ErrTooManySecrets.After(secrets[n-1].ExpiresAt.Sub(now))
		}
		_, err = tx.exec(ctx, `UPDATE webhook_secrets SET expires_at = $2 WHERE user_id = $1 AND expires_at IS NULL`,
			userID, micros(oldEnd))
		if err != nil {
			return err
		}
		var id int64 // the encryption is bound to the ID
		err = queryRow(ctx, tx, []any{&id}, `INSERT INTO webhook_secrets (user_id, secret) VALUES ($1, '') RETURNING id`, userID)
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, `UPDATE webhook_secrets SET secret = $2 WHERE id = $1`, id, s.keys.Seal(secret, secretPlace(id, userID)))
		return err
	})
}
