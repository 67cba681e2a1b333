package studio

import (
	"context"
	"time"
)

// At most maxWebhookTests sample notifications are sent for a user within webhookTestWindow.
const (
	maxWebhookTests   = 10
	webhookTestWindow = time.Minute
)

// WebhookAttempt is what came of one attempt to deliver an event.
type WebhookAttempt struct {
	Delivered bool
	Status    int // 0 when there was no answer
	Duration  time.Duration
	Failure   string // "" when delivered
	Event     Event
}

// TestWebhook sends a sample event of the kind of subjects to a URL, signed with the secrets of
// the caller. An impossible URL is an [*InvalidError], too many tests are [ErrTooManyTests].
func (s *Service) TestWebhook(ctx context.Context, userID, url string, kind Kind) (WebhookAttempt, error) {
	canonical, err := s.checkWebhook("/webhook_url", url)
	if err != nil {
		return WebhookAttempt{}, err
	}
	if err := s.countWebhookTest(ctx, userID); err != nil {
		return WebhookAttempt{}, err
	}
	secrets, err := s.WebhookSecrets(ctx, userID)
	if err != nil {
		return WebhookAttempt{}, err
	}
	sample := Event{ID: s.NewID(), SubjectID: s.NewID(), Sequence: 1, CreatedAt: s.now()}
	status := Succeeded
	if kind == Avatar {
		status = Published
	}
	if sample.Body, err = eventBody(kind, sample.SubjectID, status); err != nil {
		return WebhookAttempt{}, err
	}
	attempt := s.SendWebhook(ctx, canonical, sample, secrets)
	attempt.Event = sample
	return attempt, nil
}

// countWebhookTest counts tests where the failed tries to log in are counted.
func (s *Service) countWebhookTest(ctx context.Context, userID string) error {
	account, now := "webhook tests of "+userID, s.now()
	tests, began, err := s.Store.LoginTries(ctx, account, now.Add(-webhookTestWindow))
	if err != nil {
		return err
	}
	if tests >= maxWebhookTests {
		return &LimitError{Limit: ErrTooManyTests, RetryAfter: began.Add(webhookTestWindow).Sub(now)}
	}
	return s.Store.CountLoginTry(ctx, account, now, now.Add(-webhookTestWindow))
}
