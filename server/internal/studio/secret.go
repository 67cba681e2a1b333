package studio

import (
	"context"
	"errors"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/standardwebhooks"
)

// SecretOverlap is how long the previous webhook secrets of a user remain active after a rotation.
const SecretOverlap = 24 * time.Hour

// maxSecrets limits the active secrets of a user. Each notification is signed with all of them.
const maxSecrets = 10

// WebhookSecret is a secret with which the notifications of a user are signed.
type WebhookSecret struct {
	Secret    string
	ExpiresAt time.Time // zero for the newest secret
}

// WebhookSecrets is like [Service.WebhookSecretsInForce] without the expiries.
func (s *Service) WebhookSecrets(ctx context.Context, userID string) ([]string, error) {
	inForce, err := s.WebhookSecretsInForce(ctx, userID)
	secrets := make([]string, len(inForce))
	for i, secret := range inForce {
		secrets[i] = secret.Secret
	}
	return secrets, err
}

// WebhookSecretsInForce returns the secrets with which the notifications of a user are signed, newest first.
// It creates a secret if there is none.
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

// RotateWebhookSecret creates a new secret for a user. The previous secrets remain active for
// [SecretOverlap]. It returns all active secrets. The error is [ErrTooManySecrets] if too many are
// active.
func (s *Service) RotateWebhookSecret(ctx context.Context, userID string) ([]WebhookSecret, error) {
	if err := s.addSecret(ctx, userID, false); err != nil {
		return nil, err
	}
	return s.Store.WebhookSecrets(ctx, userID, s.now())
}

func (s *Service) addSecret(ctx context.Context, userID string, onlyFirst bool) error {
	now := s.now()
	limit := maxSecrets
	if onlyFirst {
		limit = 1
	}
	err := s.Store.AddWebhookSecret(ctx, userID, standardwebhooks.NewSecret().Reveal(), now, now.Add(SecretOverlap), limit)
	if onlyFirst && errors.Is(err, ErrTooManySecrets) {
		return nil // a concurrent call has added a secret
	}
	return orDeleted(err)
}
