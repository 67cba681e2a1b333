// Package wire connects package studio to what it must not import: identifiers, secrets, Unicode and package sender.
package wire

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"github.com/avatarstudio/avatarstudio/api/standardwebhooks"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// Config returns the part of the configuration that is the same in every program.
func Config(store studio.Store, passwords studio.Passwords) studio.Config {
	return studio.Config{
		Store:     store,
		Passwords: passwords,
		NFC:       norm.NFC.String,
		NewID:     func() string { return uuid.Must(uuid.NewV7()).String() },
		NewSecret: func() string { return standardwebhooks.NewSecret().Reveal() },
		Now:       time.Now,
	}
}

// CheckWebhook returns the function that checks webhook URLs with s.
func CheckWebhook(s *sender.Sender) func(url string) (canonical string, refusal *studio.InvalidError) {
	return func(url string) (canonical string, refusal *studio.InvalidError) {
		canonical, err := s.CanonicalURL(url)
		if refused := (*sender.RefusedError)(nil); errors.As(err, &refused) {
			code := "webhook_url_invalid"
			if refused.NotPublic {
				code = "webhook_url_not_public"
			}
			return "", &studio.InvalidError{Code: code, Detail: refused.Reason}
		}
		return canonical, nil
	}
}

// SendWebhook returns the function that makes one attempt to deliver an event with send, which is not recorded.
func SendWebhook(send func(context.Context, sender.Message) sender.Attempt) func(context.Context, string, studio.Event, []string) studio.WebhookAttempt {
	return func(ctx context.Context, url string, event studio.Event, secrets []string) studio.WebhookAttempt {
		sent := send(ctx, Message(url, event, secrets))
		return studio.WebhookAttempt{
			Delivered: sent.Delivered(), Status: sent.Status, Duration: sent.Duration, Failure: string(sent.Failure),
		}
	}
}

// Message returns the message for an event. If a secret is damaged, the message has none, and is not sent.
func Message(url string, event studio.Event, secrets []string) sender.Message {
	message := sender.Message{URL: url, ID: event.ID, Sequence: event.Sequence, Body: event.Body}
	message.Secrets, _ = standardwebhooks.ParseSecrets(secrets)
	return message
}
