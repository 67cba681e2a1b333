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

// Event is a notification, either from [Service.Events] or made by the test.
type Event struct {
	// URL is the destination. Its host must be a loopback address.
	URL string

	// ID identifies the event. It is the same each time the event is sent. Defaults to a new id.
	ID string

	// Sequence is the position of the event among the events of the same avatar, video or lip-sync.
	// Defaults to 1.
	Sequence int64

	// Body is the JSON of the notification, sent unchanged, such as that of a gen.SampleEvent.
	Body []byte

	// Time is the time of signing. Defaults to now.
	Time time.Time
}

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

// AutoFinish makes each avatar, video and lip-sync created from now on reach a final status right after
// the response to its creation. The status is published or succeeded. It is failed if the title contains
// "[fail]", and consent_failed if the title contains "[no-consent]".
func (s *Service) AutoFinish() { s.service.AutoFinish() }

// Events returns the events of an avatar, video or lip-sync with a registered webhook, in order, whether
// or not they were sent.
func (s *Service) Events(id string) []Event {
	var events []Event
	for _, message := range s.service.Events(id) {
		events = append(events, eventOf(message))
	}
	return events
}

func eventOf(message sender.Message) Event {
	return Event{URL: message.URL, ID: message.ID, Sequence: message.Sequence, Body: message.Body}
}

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
		attempt := s.Fire(eventOf(message), message.Secrets...)
		attempts = append(attempts, attempt)
		return attempt.Delivered()
	})
	return attempts
}

// Fire sends an event once and returns when the receiver has responded. The event need not come from the
// service, and may have been sent before. Fire signs it with secrets or, if there are none, with the
// active secrets. Pass a secret that the receiver does not know to test an invalid signature. Fire sends
// to loopback addresses only.
func (s *Service) Fire(event Event, secrets ...webhook.Secret) sender.Attempt {
	s.t.Helper()
	if event.ID == "" {
		event.ID = uuid.NewString()
	}
	if len(secrets) == 0 {
		secrets = s.Secrets()
	}
	config := senderConfig()
	if !event.Time.IsZero() {
		config.Now = func() time.Time { return event.Time }
	}
	return deliver(s.t.Context(), config, sender.Message{
		URL: event.URL, ID: event.ID, Sequence: max(event.Sequence, 1), Body: event.Body, Secrets: secrets,
	})
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
