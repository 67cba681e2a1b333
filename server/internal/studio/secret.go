package studio

import (
	"context"
	"time"
)

// SecretOverlap is how long the old webhook secrets of a user sign beside a new one.
const SecretOverlap = 24 * time.Hour

// WebhookSecrets returns the secrets that sign a user's notifications, newest first, and
// makes the first one when there is none.
func (s *Service) WebhookSecrets(ctx context.Context, userID string) ([]string, error) {
	secrets, err := s.Store.WebhookSecrets(ctx, userID, s.now())
	if err != nil || len(secrets) > 0 {
		return secrets, err
	}
	if err := s.addSecret(ctx, userID, true); err != nil {
		return nil, err
	}
	return s.Store.WebhookSecrets(ctx, userID, s.now())
}

// RotateWebhookSecret gives a user a new secret; the ones before it sign for [SecretOverlap]
// more. It returns the secrets in force.
func (s *Service) RotateWebhookSecret(ctx context.Context, userID string) ([]string, error) {
	if err := s.addSecret(ctx, userID, false); err != nil {
		return nil, err
	}
	return s.Store.WebhookSecrets(ctx, userID, s.now())
}

func (s *Service) addSecret(ctx context.Context, userID string, onlyFirst bool) error {
	now := s.now()
	return s.Store.AddWebhookSecret(ctx, userID, s.NewSecret(), now, now.Add(SecretOverlap), onlyFirst)
}
