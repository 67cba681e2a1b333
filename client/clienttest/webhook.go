package clienttest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

const (
	secretOverlap  = 24 * time.Hour
	maxSecrets     = 10
	maxTests       = 10
	testWindow     = time.Minute
	tooManySecrets = "Too many secrets are active. Try again later."
	tooManyTests   = "Too many sample notifications. Try again later."
)

// secret is a signing secret with its expiry. The zero time means that it does not expire.
type secret struct {
	webhook.Secret
	expires time.Time
}

// Secrets returns the active secrets of the user, newest first. Until a rotation that is only Secret.
func (s *Service) Secrets() []webhook.Secret {
	s.studio.mu.Lock()
	defer s.studio.mu.Unlock()
	var secrets []webhook.Secret
	for _, secret := range s.studio.secretsOf(s.UserID) {
		secrets = append(secrets, secret.Secret)
	}
	return secrets
}

// secretsOf returns the active secrets of a user, and creates the first one if necessary. s.mu must be
// held.
func (s *studio) secretsOf(userID string) []secret {
	s.expireSecrets(userID)
	if len(s.secrets[userID]) == 0 {
		s.secrets[userID] = []secret{{Secret: webhook.NewSecret()}}
	}
	return s.secrets[userID]
}

func (s *studio) expireSecrets(userID string) {
	s.secrets[userID] = slices.DeleteFunc(s.secrets[userID], func(known secret) bool {
		return !known.expires.IsZero() && !known.expires.After(now())
	})
}

func secretList(secrets []secret) gen.WebhookSecretList {
	list := gen.WebhookSecretList{Data: make([]gen.WebhookSecret, len(secrets))}
	for i, secret := range secrets {
		list.Data[i].Secret = secret.Reveal()
		if !secret.expires.IsZero() {
			list.Data[i].ExpiresAt = new(secret.expires)
		}
	}
	return list
}

func (s *studio) GetWebhookSecrets(
	ctx context.Context, _ gen.GetWebhookSecretsRequestObject,
) (gen.GetWebhookSecretsResponseObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return gen.GetWebhookSecrets200JSONResponse(secretList(s.secretsOf(caller(ctx)))), nil
}

func (s *studio) RotateWebhookSecret(
	ctx context.Context, _ gen.RotateWebhookSecretRequestObject,
) (gen.RotateWebhookSecretResponseObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	userID := caller(ctx)
	s.expireSecrets(userID)
	secrets := s.secrets[userID]
	if n := len(secrets); n >= maxSecrets {
		return nil, &server.Error{
			Status: http.StatusTooManyRequests, Code: "too_many_webhook_secrets", Detail: tooManySecrets, RetryAfter: secrets[n-1].expires.Sub(now()),
		}
	}
	if len(secrets) > 0 {
		secrets[0].expires = now().Add(secretOverlap)
	}
	s.secrets[userID] = append([]secret{{Secret: webhook.NewSecret()}}, secrets...)
	return gen.RotateWebhookSecret200JSONResponse(secretList(s.secrets[userID])), nil
}

// TestWebhook sends only to loopback addresses, like Fire.
func (s *studio) TestWebhook(ctx context.Context, request gen.TestWebhookRequestObject) (gen.TestWebhookResponseObject, error) {
	url, err := s.canonical("/webhook_url", &request.Body.WebhookURL)
	if err != nil {
		return nil, err
	}
	sample := newEvent(&subject{kind: request.Body.EventType, id: newID(), status: succeeded, webhookURL: url, sequence: 1})
	if request.Body.EventType == avatar {
		sample = newEvent(&subject{kind: avatar, id: newID(), status: published, webhookURL: url, sequence: 1})
	}
	secrets, err := s.countTest(caller(ctx))
	if err != nil {
		return nil, err
	}
	attempt, err := send(ctx, sample.Event, secrets)
	if err != nil {
		return nil, err
	}
	response := gen.TestWebhook200JSONResponse{Delivered: attempt.Delivered(), DurationMs: attempt.Duration.Milliseconds()}
	if attempt.Status != 0 {
		response.Status = &attempt.Status
	}
	if attempt.Failure != "" {
		response.Error = new(string(attempt.Failure))
	}
	return response, json.Unmarshal(sample.Body, &response.Event)
}

// countTest counts a sample notification and returns the secrets to sign it with.
func (s *studio) countTest(userID string) ([]webhook.Secret, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tests := s.tests[userID]
	wait := tests.began.Add(testWindow).Sub(now())
	if wait <= 0 {
		tests = loginTry{began: now()}
	}
	if tests.count >= maxTests {
		return nil, &server.Error{Status: http.StatusTooManyRequests, Code: "too_many_webhook_tests", Detail: tooManyTests, RetryAfter: wait}
	}
	tests.count++
	s.tests[userID] = tests
	var secrets []webhook.Secret
	for _, secret := range s.secretsOf(userID) {
		secrets = append(secrets, secret.Secret)
	}
	return secrets, nil
}
