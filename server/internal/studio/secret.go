package studio

import (
	"context"
	"errors"
	"time"
)

// SecretOverlap is how long the old webhook secrets of a user sign beside a new one.
const SecretOverlap = 24 * time.Hour

// maxSecrets is how many secrets of a user can be in force. Each signs every notification.
const maxSecrets = 10

// WebhookSecret is a secret that signs the notifications of a user.
type WebhookSecret struct {
	Secret    string
	ExpiresAt time.Time // zero for the newest
}

// WebhookSecrets returns the secrets in force of a user as [Service.WebhookSecretsInForce] does.
func (s *Service) WebhookSecrets(ctx context.Context, userID string) ([]string, error) {
	inForce, err := s.WebhookSecretsInForce(ctx, userID)
	secrets := make([]string, len(inForce))
	for i, secret := range inForce {
		secrets[i] = secret.Secret
	}
	return secrets, err
}

// WebhookSecretsInForce returns the secrets that sign a user's notifications, newest first, and
// makes the first one when there is none.
func (s *Service) WebhookSecretsInForce(ctx context.Context, userID string) ([]WebhookSecret, error) {
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
// more. It returns the secrets in force. [ErrTooManySecrets] while there are too many.
func (s *Service) RotateWebhookSecret(ctx context.Context, userID string) ([]WebhookSecret, error) {
	if err := s.addSecret(ctx, userID, false); err != nil {
		return nil, err
	}
	return s.Store.WebhookSecrets(ctx, userID, s.now())
}

func (s *Service) addSecret(ctx context.Context, userID string, onlyFirst bool) error {
	now := s.now()
	most := maxSecrets
	if onlyFirst {
		most = 1
	}
	err := s.Store.AddWebhookSecret(ctx, userID, s.NewSecret(), now, now.Add(SecretOverlap), most)
	if onlyFirst && errors.Is(err, ErrTooManySecrets) {
		return nil // another call was first
	}
	return err
}
