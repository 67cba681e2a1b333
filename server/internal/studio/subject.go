package studio

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// Status is the state of a subject.
type Status string

// The states; see [KindRules].
const (
	Processing     Status = "processing"
	Failed         Status = "failed"
	Published      Status = "published"
	ConsentPending Status = "consent_pending"
	ConsentFailed  Status = "consent_failed"
	Succeeded      Status = "succeeded"
)

// Consent is the decision of the person whom an avatar shows.
type Consent string

// The decisions.
const (
	Undecided Consent = ""
	Granted   Consent = "granted"
	Refused   Consent = "refused"
)

// Subject is an avatar, video or lip-sync. It has a state, is rendered, and has an ordered sequence of
// events.
type Subject struct {
	ID            string
	Kind          Kind
	UserID        string
	AvatarID      string // the avatar of a video
	AvatarTitle   *string
	WorkspaceID   string         // of the project that the subject is; "" if it is none
	Project       ProjectDetails // of this project
	Title         *string
	Request       []byte // the request as a JSON object, including unknown members
	RequestID     string // of the creation, for the log
	TraceParent   string // span of the creation; "" if it is not traced
	WebhookURL    string // "" if no notifications are sent
	Status        Status
	Consent       Consent
	FailureReason string
	Progress      int       // of the rendering, from 0 to 100
	Stage         string    // what the rendering does, as its renderer reported; "" if it did not
	ReadyAt       time.Time // estimated end of the rendering; zero if it is unknown
	Started       bool      // whether a process renders it; the store only reads it
	Rendering     Rendering
	CreatedAt     time.Time
	UpdatedAt     time.Time

	Sequence    int64     // of the last event; 0 if there is none
	RenderAt    time.Time // when the rendering is due; zero if nothing is to be rendered
	RenderTries int       // failed attempts to render

	Events []Event // new events since the subject was read; the store writes them with the subject and never reads them
}

// SubjectStore stores subjects with their events; see [Store].
type SubjectStore interface {
	// CreateSubject writes a new subject and its events. A subject without a workspace gets that of its user, if the
	// user is a member of exactly one; the returned subject may lack it. If the user has used key before and it has not
	// expired, it writes nothing. It then does what CreatedSubject does. The error is [ErrNotFound] if the user or the
	// avatar of a video has been deleted, and [ErrForbidden] if the user is not a member of the workspace.
	CreateSubject(ctx context.Context, subject Subject, key IdempotencyKey) (Subject, error)
	// CreatedSubject returns the subject that the user created with key before, even if it has been deleted since. If
	// the request was another one, it returns [ErrKeyReused]. If a call with the key is in progress, it waits for that
	// call or returns [ErrKeyInUse]. The error is [ErrNotFound] if the key was not used or has expired.
	CreatedSubject(ctx context.Context, userID string, key IdempotencyKey) (Subject, error)
	Subject(ctx context.Context, id string) (Subject, error)
	// Subjects returns up to limit subjects, newest first, that follow a position. The zero Position is
	// before the newest. more and the sizes of pages are as with Projects.
	Subjects(ctx context.Context, filter SubjectFilter, after Position, limit int) (page []Subject, more bool, err error)
	// UpdateSubject reads a subject, calls change, and writes the changed subject and its new events, in one
	// transaction. If change returns an error, nothing is written and UpdateSubject returns the error. It may
	// call change several times, each time with the subject as it was read, so change must have no other
	// effects.
	UpdateSubject(ctx context.Context, id string, change func(*Subject) error) (Subject, error)
	// DeleteSubject erases a subject, its videos, their undelivered events, and their uploads that no other
	// subject of the user uses. It returns what it has erased. If the subject was deleted after the time
	// repeatAfter, it returns the same result without erasing anything. The error is [ErrNotFound] if the user has
	// no such subject of this kind. If workspaceID is not "", the subject and its videos must be in this workspace: the
	// error is [ErrNotFound] if the subject is not, and [ErrOtherWorkspace] if a video is not.
	DeleteSubject(ctx context.Context, userID, workspaceID string, kind Kind, id string, now, repeatAfter time.Time) (Erased, error)
	// CreationsInProgress returns the number of subjects of a user that are waiting to be rendered or being
	// rendered.
	CreationsInProgress(ctx context.Context, userID string) (int, error)
}

// visible reports whether the caller, who is a user, can use the subject. See [OnlyWorkspace].
func (s *Subject) visible(ctx context.Context, userID string) bool {
	only := onlyWorkspace(ctx)
	return s.UserID == userID && (only == "" || s.WorkspaceID == only)
}

// Final reports whether the subject is in a final state.
func (s *Subject) Final() bool { return len(s.Kind.Rules().next[s.Status]) == 0 }

// asCreated returns the subject as it was when its creation c had made it, whatever has changed since.
func (s *Subject) asCreated(c Creation) Subject {
	return Subject{
		ID: s.ID, Kind: s.Kind, UserID: s.UserID, AvatarID: s.AvatarID, Title: c.Title, Request: c.Request, WebhookURL: s.WebhookURL,
		Status: Processing, CreatedAt: s.CreatedAt, UpdatedAt: s.CreatedAt,
	}
}

// VideoSeconds returns how many credits of its user the subject has used: the seconds of its video, rounded up.
func (s *Subject) VideoSeconds() int64 {
	if s.Status != Succeeded {
		return 0
	}
	return int64(math.Ceil(s.Rendering.Seconds))
}

// enter moves the subject to a state and appends the event for it, if there is one. It returns an error if
// the transition is not allowed.
func (s *Subject) enter(status Status, now time.Time) error {
	if !slices.Contains(s.Kind.Rules().next[s.Status], status) {
		return fmt.Errorf("studio: a %s cannot change from %q to %q", s.Kind, s.Status, status)
	}
	s.Status, s.UpdatedAt = status, now
	if !announces(s.Kind, status) {
		return nil
	}
	s.Sequence++
	event := Event{ID: eventID(s, status), SubjectID: s.ID, Sequence: s.Sequence, CreatedAt: now}
	var err error
	event.Body, err = eventBody(s.Kind, s.ID, status)
	s.Events = append(s.Events, event)
	return err
}
