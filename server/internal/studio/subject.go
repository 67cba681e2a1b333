package studio

import (
	"fmt"
	"slices"
	"time"
)

// Kind tells what a subject is.
type Kind string

// The kinds of subjects.
const (
	Avatar  Kind = "avatar"
	Video   Kind = "video"
	Lipsync Kind = "lipsync"
)

// Status is a state of a subject (interface, section 3).
type Status string

// The states. Avatars have all but Succeeded; videos and lip-syncs have Processing,
// Succeeded and Failed.
const (
	Processing     Status = "processing"
	Failed         Status = "failed"
	Published      Status = "published"
	ConsentPending Status = "consent_pending"
	ConsentFailed  Status = "consent_failed"
	Succeeded      Status = "succeeded"
)

// transitions lists, for each kind, the states that may follow a state; "" is before the
// first. A state with nothing after it is final.
//
//nolint:gochecknoglobals // a table
var transitions = map[Kind]map[Status][]Status{
	Avatar: {
		"":             {Processing},
		Processing:     {ConsentPending, Failed},
		ConsentPending: {Published, ConsentFailed},
	},
	Video:   {"": {Processing}, Processing: {Succeeded, Failed}},
	Lipsync: {"": {Processing}, Processing: {Succeeded, Failed}},
}

// Consent is the decision of the person that an avatar shows.
type Consent string

// The decisions.
const (
	Undecided Consent = ""
	Granted   Consent = "granted"
	Refused   Consent = "refused"
)

// Subject is one avatar, video or lip-sync: what has states, is rendered, and is what events
// are about and in order within.
type Subject struct {
	ID            string
	Kind          Kind
	UserID        string
	AvatarID      string // of a video: the avatar that it is made from
	AvatarTitle   *string
	Title         *string
	Request       []byte // what was asked for: a JSON object, unknown members included
	RequestID     string // of the creation, for the log
	WebhookURL    string // "" when no notifications are sent
	Status        Status
	Consent       Consent
	FailureReason string
	Progress      int // of the rendering, from 0 to 100
	Rendering     Rendering
	CreatedAt     time.Time
	UpdatedAt     time.Time

	Sequence    int64     // of the last event; 0 before the first
	RenderAt    time.Time // when rendering is due; zero when there is nothing to render
	RenderTries int       // renderings that did not end

	Events []Event // entered since the subject was read; written with it
}

// Final reports whether the subject stays in its state.
func (s *Subject) Final() bool { return len(transitions[s.Kind][s.Status]) == 0 }

// asCreated returns the subject as its creation answered it.
func (s *Subject) asCreated() Subject {
	created := *s
	created.Status, created.UpdatedAt = Processing, s.CreatedAt
	created.FailureReason, created.Progress, created.Rendering = "", 0, Rendering{}
	return created
}

// enter moves the subject to a state and appends the event that announces it, if any. A
// transition that the states do not have is an error of the caller's.
func (s *Subject) enter(status Status, now time.Time, newID func() string) error {
	if !slices.Contains(transitions[s.Kind][s.Status], status) {
		return fmt.Errorf("studio: a %s cannot go from %q to %q", s.Kind, s.Status, status)
	}
	s.Status, s.UpdatedAt = status, now
	if s.WebhookURL == "" || !announces(s.Kind, status) {
		return nil
	}
	s.Sequence++
	event := Event{ID: newID(), SubjectID: s.ID, Sequence: s.Sequence, CreatedAt: now}
	var err error
	event.Body, err = eventBody(s.Kind, s.ID, status)
	s.Events = append(s.Events, event)
	return err
}
