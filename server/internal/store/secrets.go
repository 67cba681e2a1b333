package store

import (
	"context"
	"time"
)

func (s *Store) WebhookSecrets(ctx context.Context, userID string, now time.Time) ([]string, error) {
	return webhookSecrets(ctx, s.engine, userID, now)
}

func webhookSecrets(ctx context.Context, q querier, userID string, now time.Time) ([]string, error) {
	var secrets []string
	err := q.query(ctx, func(scan func(...any) error) error {
		var secret string
		err := scan(&secret)
		secrets = append(secrets, secret)
		return err
	}, `SELECT secret FROM webhook_secrets WHERE user_id = $1 AND (expires_at IS NULL OR expires_at > $2) ORDER BY id DESC`,
		userID, micros(now))
	return secrets, err
}

func (s *Store) AddWebhookSecret(
	ctx context.Context, userID, secret string, now, oldEnd time.Time, onlyFirst bool,
) error {
	return s.write(ctx, func(tx transaction) error {
		if err := lockUser(ctx, tx, `id = $1`, userID); err != nil {
			return err
		}
		if onlyFirst {
			if secrets, err := webhookSecrets(ctx, tx, userID, now); err != nil || len(secrets) > 0 {
				return err
			}
		}
		_, err := tx.exec(ctx, `UPDATE webhook_secrets SET expires_at = $2 WHERE user_id = $1 AND expires_at IS NULL`,
			userID, micros(oldEnd))
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, `INSERT INTO webhook_secrets (user_id, secret) VALUES ($1, $2)`, userID, secret)
		return err
	})
}
