package studio

import (
	"context"
	"time"
)

// Store keeps the domain. Each method is one transaction. A method that finds no record
// returns [ErrNotFound]; one that would make a second record with the same key, [ErrExists].
type Store interface {
	CreateUser(ctx context.Context, user User) error
	// UserByEmail finds a user; email is normalized.
	UserByEmail(ctx context.Context, email string) (User, error)
	// SetPassword replaces the hash and deletes every refresh token of the user.
	SetPassword(ctx context.Context, userID, hash string) error

	// LoginTries returns the failed tries for account in its window, if that began after the given
	// time, and when it began.
	LoginTries(ctx context.Context, account string, after time.Time) (tries int, began time.Time, err error)
	// CountLoginTry adds one to them, or begins a window at now.
	CountLoginTry(ctx context.Context, account string, now, after time.Time) error
	ForgetLoginTries(ctx context.Context, account string) error

	// AddRefreshToken adds a token if its user still has this password hash, else [ErrUnauthorized].
	AddRefreshToken(ctx context.Context, token RefreshToken, passwordHash string) error
	// RotateRefreshToken marks the token with this hash as used and adds next to its family,
	// for its user. A token that is unknown or expired is [ErrUnauthorized]; so is one that was
	// used before, and then its whole family is deleted.
	RotateRefreshToken(ctx context.Context, hash []byte, now time.Time, next RefreshToken) (userID string, err error)

	CreateWorkspace(ctx context.Context, workspace Workspace) error
	// AddMember may be repeated. [ErrNotFound] when there is no such workspace.
	AddMember(ctx context.Context, workspaceID, userID string) error
	IsMember(ctx context.Context, workspaceID, userID string) (bool, error)

	// ImportProjects adds all projects or none. [ErrExists] comes with the index of the project.
	ImportProjects(ctx context.Context, projects []Project) (index int, err error)
	CountProjects(ctx context.Context, workspaceID, userID string) (ProjectCounts, error)
	// Projects returns up to limit projects of a workspace, newest first, that come after the
	// given one; the zero Project starts at the newest.
	Projects(ctx context.Context, workspaceID string, after Project, limit int) ([]Project, error)

	// CreateSubject writes a new subject and its events. With a key that is in force for the
	// user, it writes nothing and returns the subject that the key made, or [ErrKeyReused]; while
	// another call with the key goes on it waits for that, or returns [ErrKeyInUse].
	CreateSubject(ctx context.Context, subject Subject, key IdempotencyKey) (Subject, error)
	Subject(ctx context.Context, id string) (Subject, error)
	// UpdateSubject reads a subject, calls change, and writes what change did to it, new events
	// included, all in one transaction. An error from change undoes everything and is returned.
	UpdateSubject(ctx context.Context, id string, change func(*Subject) error) (Subject, error)

	// WebhookSecrets returns the secrets of a user that are in force at now, newest first.
	WebhookSecrets(ctx context.Context, userID string, now time.Time) ([]string, error)
	// AddWebhookSecret adds a secret. Those in force now end at oldEnd. With onlyFirst it adds
	// nothing when one is in force.
	AddWebhookSecret(ctx context.Context, userID, secret string, now, oldEnd time.Time, onlyFirst bool) error
}
