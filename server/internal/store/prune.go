package store

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Retention is how long events and their attempts are kept after they ended.
const Retention = 30 * 24 * time.Hour

// Prune deletes what no rule asks for any more.
func (s *Store) Prune(ctx context.Context, now time.Time) error {
	rules := []struct {
		query string
		limit time.Time
	}{
		{`DELETE FROM events WHERE ended_at < $1`, now.Add(-Retention)},
		{`DELETE FROM idempotency_keys WHERE created_at < $1`, now.Add(-studio.IdempotencyLifetime)},
		{`DELETE FROM refresh_tokens WHERE expires_at < $1`, now},
		{`DELETE FROM webhook_secrets WHERE expires_at < $1`, now},
		{`DELETE FROM login_tries WHERE began_at < $1`, now.Add(-studio.LoginWindow)},
	}
	for _, rule := range rules { // one transaction each, so that none holds others up for long
		err := s.write(ctx, func(tx transaction) error {
			_, err := tx.exec(ctx, rule.query, micros(rule.limit))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
