package clienttest

import (
	"context"
	"net/netip"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// SetAvatar moves an avatar to a status, through all statuses in between. An avatar becomes
// consent_pending before it is published or consent_failed, and leaves consent_pending at once if consent
// was already submitted. A transition that the contract does not allow fails the test.
func (s *Service) SetAvatar(id string, status gen.AvatarStatus) {
	s.t.Helper()
	if err := s.service.SetAvatar(s.t.Context(), id, status); err != nil {
		s.t.Errorf("clienttest: SetAvatar: %v", err)
	}
}

// SetInference moves a video or lip-sync to a final status. A transition that the contract does not allow
// fails the test.
func (s *Service) SetInference(id string, status gen.InferenceStatus) {
	s.t.Helper()
	if err := s.service.SetInference(s.t.Context(), id, status); err != nil {
		s.t.Errorf("clienttest: SetInference: %v", err)
	}
}

// AutoFinish makes each avatar, video and lip-sync created from now on reach a final status before the response to its
// creation, which has the first. The status is published or succeeded. It is failed if the title contains "[fail]", and
// consent_failed if the title contains "[no-consent]".
func (s *Service) AutoFinish() { s.service.AutoFinish() }

// Events returns the notifications of an avatar, video or lip-sync with a registered webhook, in order, whether
// or not they were sent. They have no Secrets.
func (s *Service) Events(id string) []sender.Message { return s.service.Events(id) }

// Secrets returns the active secrets of the user, newest first. Until a rotation that is only Secret.
func (s *Service) Secrets() []webhook.Secret {
	secrets, err := s.service.Secrets(context.Background(), s.UserID)
	if err != nil { // the user is never deleted
		panic(err)
	}
	return secrets
}

// Deliver sends each event that was not accepted yet, including those that occur meanwhile, and returns
// the attempts. Like the real service, it signs an event with the secrets of its user, and sends it only after
// the previous event of the same avatar, video or lip-sync was accepted. The next Deliver retries events that
// were refused. Like Fire, it sends to loopback addresses only; the attempt for any other URL fails with
// [sender.FailureBlocked].
func (s *Service) Deliver() []sender.Attempt {
	s.t.Helper()
	var attempts []sender.Attempt
	s.service.Deliver(func(message sender.Message) bool {
		attempt := s.Fire(message)
		attempts = append(attempts, attempt)
		return attempt.Delivered()
	})
	return attempts
}

// Fire sends a notification once and returns when the receiver has responded. The notification need not come from
// the service, and may have been sent before. If it has no ID, it gets a new one, and its Sequence is at least 1. Fire
// signs it with its Secrets or, if there are none, with the active secrets. Set a secret that the receiver does not
// know to test an invalid signature. The Body, such as that of a gen.SampleEvent, is sent unchanged. Fire sends to
// loopback addresses only.
func (s *Service) Fire(message sender.Message) sender.Attempt {
	s.t.Helper()
	return s.FireAt(time.Now(), message)
}

// FireAt is like [Service.Fire] at another time.
func (s *Service) FireAt(at time.Time, message sender.Message) sender.Attempt {
	s.t.Helper()
	if message.ID == "" {
		message.ID = uuid.NewString()
	}
	if len(message.Secrets) == 0 {
		message.Secrets = s.Secrets()
	}
	message.Sequence = max(message.Sequence, 1)
	config := senderConfig()
	config.Now = func() time.Time { return at }
	return deliver(s.t.Context(), config, message)
}

// deliver sends a message once, to a loopback address only.
func deliver(ctx context.Context, config sender.Config, message sender.Message) sender.Attempt {
	if !local(message.URL) {
		return sender.Attempt{Failure: sender.FailureBlocked}
	}
	sending, err := sender.New(config)
	if err != nil { // the configuration is valid
		panic(err)
	}
	defer sending.Close()
	return sending.Send(ctx, message)
}

// senderConfig allows the loopback addresses and ports of test receivers.
func senderConfig() sender.Config {
	return sender.Config{AllowHTTP: true, AllowNetworks: []netip.Prefix{
		netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"),
	}}
}

// local reports whether the host of a URL is a loopback address.
func local(raw string) bool {
	target, err := url.Parse(raw)
	if err != nil {
		return false
	}
	address, err := netip.ParseAddr(target.Hostname())
	return target.Hostname() == "localhost" || err == nil && address.IsLoopback()
}
