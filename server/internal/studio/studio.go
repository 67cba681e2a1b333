// Package studio is the domain of Avatar Studio: users, workspaces, projects, and the
// avatars, videos and lip-syncs that users create, with the rules that hold between them.
// It knows neither HTTP nor SQL and imports the standard library only.
//
// A [Subject] is one avatar, one video or one lip-sync. Every change of its state happens
// in [Store.UpdateSubject], which writes the state and the [Event] that announces it in one
// transaction. What follows from a change (rendering, delivering) is work that the rows
// themselves describe; package jobs does it.
package studio

import (
	"context"
	"time"
)

// Config holds what the domain needs from outside. Every field up to Now but AutoConsent and Media is required.
type Config struct {
	// Store keeps everything.
	Store Store
	// Passwords hashes and compares passwords.
	Passwords Passwords
	// IssueAccessToken makes the token that names a user for the hour after at.
	IssueAccessToken func(userID string, at time.Time) (string, error)
	// CheckWebhook returns the canonical form of a webhook URL, in which each receiver has one
	// spelling, or says why the URL is refused, in words that may be shown.
	CheckWebhook func(url string) (canonical string, refusal *InvalidError)
	// SendWebhook makes one attempt to deliver an event to a canonical URL.
	SendWebhook func(ctx context.Context, url string, event Event, secrets []string) WebhookAttempt
	// Media keeps files. Without one, renderings have none.
	Media Media
	// CursorKey authenticates the cursors of lists. It is the same in every process on a database.
	CursorKey []byte
	// NewID makes the id of a record: unique, and sorted by the time it was made.
	NewID func() string
	// NewSecret makes a webhook secret.
	NewSecret func() string
	// AutoConsent decides for avatars whose consent nobody has decided; nil waits for a decision.
	AutoConsent func(Subject) (granted bool)
	// Now tells the time.
	Now func() time.Time
	// MaxInProgress is how many creations of a user may wait for their rendering or be rendered.
	// Default: any number.
	MaxInProgress int
	// MaxMediaBytes is how large the uploads of a user that have not expired may be together. Default:
	// as large as they are.
	MaxMediaBytes int64
}

// Service offers the use cases. It is safe for concurrent use.
type Service struct {
	Config
	pairs pairs
	turns turns
	decoy decoy

	inProgress inProgress
	uploading  uploading
}

// New makes a Service.
func New(cfg Config) *Service { return &Service{Config: cfg, turns: newTurns()} }

// now is the time to the microsecond, which is what the store keeps.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }
