package studio

import (
	"context"
	"time"
)

// A user can send maxWebhookTests sample notifications per webhookTestWindow.
const (
	maxWebhookTests   = 10
	webhookTestWindow = time.Minute
)

// WebhookStore stores the webhook secrets of users and counts their sample notifications; see [Store].
type WebhookStore interface {
	// WebhookSecrets returns the secrets of a user that are active at now, newest first.
	WebhookSecrets(ctx context.Context, userID string, now time.Time) ([]WebhookSecret, error)
	// AddWebhookSecret adds a secret. The active secrets then expire at oldEnd. If limit secrets are
	// active, it adds nothing and returns [ErrTooManySecrets] with the time until the oldest expires.
	AddWebhookSecret(ctx context.Context, userID, secret string, now, oldEnd time.Time, limit int) error
	// CountWebhookTest counts a sample notification under key in the current window. If the window is over at
	// now, a new one begins. If limit have been counted in it, CountWebhookTest counts nothing and returns
	// [ErrTooManyTests] with the time until its end.
	CountWebhookTest(ctx context.Context, key string, now time.Time, window time.Duration, limit int) error
}

// WebhookAttempt is the result of one attempt to deliver an event.
type WebhookAttempt struct {
	Delivered bool
	Status    int // 0 if there was no response
	Duration  time.Duration
	Failure   string // "" if delivered
	Event     Event
}

// TestWebhook sends a sample event for a kind of subjects to a URL, signed with the secrets of the user. The
// error is an [*InvalidError] if the URL is invalid, and [ErrTooManyTests] if the user has sent 10 within a
// minute. A failed attempt is no error.
func (s *Service) TestWebhook(ctx context.Context, userID, url string, kind Kind) (WebhookAttempt, error) {
	canonical, err := s.checkWebhook("/webhook_url", url)
	if err != nil {
		return WebhookAttempt{}, err
	}
	err = s.Store.CountWebhookTest(ctx, "webhook tests of "+userID, s.now(), webhookTestWindow, maxWebhookTests)
	if err != nil {
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
