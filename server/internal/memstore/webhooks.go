package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (s *Store) WebhookSecrets(_ context.Context, userID string, now time.Time) ([]studio.WebhookSecret, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.activeSecrets(userID, now), nil
}

func (s *Store) activeSecrets(userID string, now time.Time) []studio.WebhookSecret {
	return slices.DeleteFunc(slices.Clone(s.secrets[userID]), func(secret studio.WebhookSecret) bool {
		return !secret.ExpiresAt.IsZero() && !secret.ExpiresAt.After(now)
	})
}

func (s *Store) AddWebhookSecret(_ context.Context, userID, secret string, now, oldEnd time.Time, limit int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	active := s.activeSecrets(userID, now)
	if n := len(active); n >= limit {
		return studio.ErrTooManySecrets.After(active[n-1].ExpiresAt.Sub(now))
	}
	if len(active) > 0 {
		active[0].ExpiresAt = oldEnd
	}
	s.secrets[userID] = slices.Insert(active, 0, studio.WebhookSecret{Secret: secret})
	return nil
}

func (s *Store) CountWebhookTest(_ context.Context, key string, now time.Time, window time.Duration, limit int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	tests := s.counts[key]
	if !tests.at.After(now.Add(-window)) {
		tests = count{at: now}
	}
	if tests.n >= limit {
		return studio.ErrTooManyTests.After(tests.at.Add(window).Sub(now))
	}
	tests.n++
	s.counts[key] = tests
	return nil
}
