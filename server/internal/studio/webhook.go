package studio

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/standardwebhooks"
	"github.com/avatarstudio/avatarstudio/server/sender"
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

// Webhooks checks the URLs of webhooks and makes single attempts to deliver an event. A [sender.Sender] is one. Package
// deliver delivers all events but samples.
type Webhooks interface {
	// CanonicalURL returns the form of a URL that is the same for all notations of a receiver. The error is a
	// [*sender.RefusedError] if the URL cannot be one of a webhook.
	CanonicalURL(url string) (string, error)
	Send(ctx context.Context, message sender.Message) sender.Attempt
}

// Message returns the message that tells a URL of the event. If a secret is damaged, the message has none, and is not
// sent.
func (e *Event) Message(url string, secrets []string) sender.Message {
	message := sender.Message{URL: url, ID: e.ID, Sequence: e.Sequence, Body: e.Body}
	message.Secrets, _ = standardwebhooks.ParseSecrets(secrets)
	return message
}

// TestWebhook sends a sample event for a kind of subjects to a URL, signed with the secrets of the user. The
// error is an [*Error] if the URL is invalid, and [ErrTooManyTests] if the user has sent 10 within a
// minute. A failed attempt is no error.
func (s *Service) TestWebhook(ctx context.Context, userID, url string, kind Kind) (attempt sender.Attempt, sample Event, err error) {
	canonical, err := s.checkWebhook("/webhook_url", url)
	if err != nil {
		return attempt, sample, err
	}
	err = s.Store.CountWebhookTest(ctx, "webhook tests of "+userID, s.now(), webhookTestWindow, maxWebhookTests)
	if err != nil {
		return attempt, sample, err
	}
	secrets, err := s.WebhookSecrets(ctx, userID)
	if err != nil {
		return attempt, sample, err
	}
	sample = Event{ID: NewID(), SubjectID: NewID(), Sequence: 1, CreatedAt: s.now()}
	status := Succeeded
	if kind == Avatar {
		status = Published
	}
	if sample.Body, err = eventBody(kind, sample.SubjectID, status); err != nil {
		return attempt, sample, err
	}
	message := sample.Message(canonical, secrets)
	if s.TraceParent != nil {
		message.TraceParent = s.TraceParent(ctx)
	}
	return s.Webhooks.Send(ctx, message), sample, nil
}
