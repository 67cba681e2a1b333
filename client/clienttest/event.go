package clienttest

import (
	"context"
	"encoding/json"
	"net/netip"
	"net/url"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// Event is a notification: one of the service's, from [Service.Events], or one of the test's.
type Event struct {
	// URL is where it goes. It must lead to this machine.
	URL string

	// ID is the same whenever the event is sent. Defaults to a new one.
	ID string

	// Sequence is the position among the events of the same avatar, video or lip-sync. Defaults
	// to 1.
	Sequence int64

	// Body is sent as it is; the service's own are as in the interface, 6.2.
	Body []byte

	// Time is when it is signed. Defaults to now.
	Time time.Time
}

// event is an event of the service's.
type event struct {
	Event
	subject  string
	accepted bool
}

func newEvent(s *subject) *event {
	type body struct {
		EventType kind              `json:"event_type"`
		Data      map[string]string `json:"data"`
	}
	name := "inference_id"
	if s.kind == avatar {
		name = "avatar_id"
	}
	data, err := json.Marshal(body{s.kind, map[string]string{name: s.id, "status": s.status}})
	if err != nil { // strings are never refused
		panic(err)
	}
	return &event{subject: s.id, Event: Event{URL: s.webhookURL, ID: newID(), Sequence: s.sequence, Body: data}}
}

// Sample returns an event of a type as the document shows it, to be given a URL and fired. It has no
// Body when the document does not list the type.
func Sample(eventType gen.EventType) Event {
	sample, ok := gen.SampleEvent(eventType, "", "")
	if !ok {
		return Event{}
	}
	body, err := json.Marshal(struct {
		EventType gen.EventType `json:"event_type"`
		Data      gen.EventData `json:"data"`
	}{sample.EventType, sample.Data})
	if err != nil { // the data is JSON that was marshalled
		panic(err)
	}
	return Event{Body: body}
}

// SetAvatar moves an avatar to a state, by way of those between: consent_pending comes before
// published and consent_failed, and is left at once when consent has been decided. A move that
// the contract does not have fails the test.
func (s *Service) SetAvatar(id string, status gen.AvatarStatus) {
	s.t.Helper()
	if err := s.studio.move(id, string(status), true); err != nil {
		s.t.Errorf("clienttest: SetAvatar: %v", err)
	}
}

// SetInference moves a video or a lip-sync to its end. A move that the contract does not have
// fails the test.
func (s *Service) SetInference(id string, status gen.InferenceStatus) {
	s.t.Helper()
	if err := s.studio.move(id, string(status), false); err != nil {
		s.t.Errorf("clienttest: SetInference: %v", err)
	}
}

// AutoFinish makes everything that is created from now on end as soon as its creation is
// answered: published or succeeded, failed when the title contains "[fail]", and
// consent_failed when it contains "[no-consent]".
func (s *Service) AutoFinish() {
	s.studio.mu.Lock()
	defer s.studio.mu.Unlock()
	s.studio.autoFinish = true
}

// Events returns what the service has to notify of about an avatar, video or lip-sync with a
// registered webhook, sent or not, in order.
func (s *Service) Events(id string) []Event {
	s.studio.mu.Lock()
	defer s.studio.mu.Unlock()
	var events []Event
	for _, event := range s.studio.events {
		if event.subject == id {
			events = append(events, event.Event)
		}
	}
	return events
}

// Deliver sends each event that its receiver has not accepted, those included that happen in
// the meantime, and returns what came of it. As always, an event waits until the one before it
// about the same avatar, video or lip-sync has been accepted; a refused one is sent again by the
// next Deliver.
func (s *Service) Deliver() []sender.Attempt {
	s.t.Helper()
	s.delivering.Lock()
	defer s.delivering.Unlock()
	var attempts []sender.Attempt
	waiting := map[string]bool{}
	for i := 0; ; i++ {
		event := s.studio.event(i)
		switch {
		case event == nil:
			return attempts
		case event.accepted || waiting[event.subject]:
			continue
		}
		attempt := s.Fire(event.Event)
		attempts = append(attempts, attempt)
		event.accepted = attempt.Delivered() // only Deliver looks at it, one at a time
		waiting[event.subject] = !event.accepted
	}
}

func (s *studio) event(i int) *event {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i >= len(s.events) {
		return nil
	}
	return s.events[i]
}

// Fire sends an event once, whatever it is and whatever was sent before, and returns when the
// receiver has answered. It is signed with secrets, or else with those in force; a secret that the
// receiver does not know makes the signature a bad one. Nothing is sent to other machines.
func (s *Service) Fire(event Event, secrets ...webhook.Secret) sender.Attempt {
	s.t.Helper()
	if event.ID == "" {
		event.ID = newID()
	}
	if len(secrets) == 0 {
		secrets = s.Secrets()
	}
	attempt, err := send(s.t.Context(), event, secrets)
	if err != nil {
		s.t.Errorf("clienttest: %v", err)
	}
	return attempt
}

func send(ctx context.Context, event Event, secrets []webhook.Secret) (sender.Attempt, error) {
	if !local(event.URL) {
		return sender.Attempt{Failure: sender.FailureBlocked}, nil
	}
	config := senderConfig()
	if !event.Time.IsZero() {
		config.Now = func() time.Time { return event.Time }
	}
	sending, err := sender.New(config)
	if err != nil {
		return sender.Attempt{Failure: sender.FailureInvalid}, err
	}
	defer sending.Close()
	return sending.Send(ctx, sender.Message{
		URL: event.URL, ID: event.ID, Sequence: max(event.Sequence, 1), Body: event.Body, Secrets: secrets,
	}), nil
}

// senderConfig opens what receivers of tests listen on.
func senderConfig() sender.Config {
	return sender.Config{AllowHTTP: true, AllowNetworks: []netip.Prefix{
		netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"),
	}}
}

// local reports whether a URL leads to this machine.
func local(raw string) bool {
	target, err := url.Parse(raw)
	if err != nil {
		return false
	}
	address, err := netip.ParseAddr(target.Hostname())
	return target.Hostname() == "localhost" || err == nil && address.IsLoopback()
}
