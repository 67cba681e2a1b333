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
	// SetPassword replaces the hash and does what RevokeTokens does.
	SetPassword(ctx context.Context, userID, hash string, now time.Time) error
	// RevokeTokens deletes every refresh token and known address of a user, and keeps that access tokens
	// issued until now are not valid.
	RevokeTokens(ctx context.Context, userID string, now time.Time) error
	// DeleteUser erases a user and all that is theirs but projects, as DeleteSubject does for each
	// subject, and returns the ids of the subjects and the keys of the uploads.
	DeleteUser(ctx context.Context, userID string, now time.Time) (subjects, uploads []string, err error)

	// LoginTries returns how often account was counted in its window, if that began after the given
	// time, and when it began.
	LoginTries(ctx context.Context, account string, after time.Time) (tries int, began time.Time, err error)
	// CountLoginTry counts once more, or begins a window at now.
	CountLoginTry(ctx context.Context, account string, now, after time.Time) error

	// LoginWait returns how long a login has to wait for the longest of throttles.
	LoginWait(ctx context.Context, throttles []Throttle, now time.Time) (time.Duration, error)
	// CountLogin counts a login as failed under each of throttles, or returns how long it has to wait.
	CountLogin(ctx context.Context, throttles []Throttle, now time.Time) (time.Duration, error)
	// UncountLogin takes back what CountLogin has counted for a login that did not fail. One that
	// succeeded forgets the failures of the throttles that say so.
	UncountLogin(ctx context.Context, throttles []Throttle, succeeded bool) error
	// KnowsAddress reports whether SeeAddress was called for a user and an address after a time.
	KnowsAddress(ctx context.Context, userID, address string, after time.Time) (bool, error)
	SeeAddress(ctx context.Context, userID, address string, now time.Time) error

	// AddRefreshToken adds a token if its user still has this password hash, else [ErrUnauthorized].
	AddRefreshToken(ctx context.Context, token RefreshToken, passwordHash string) error
	// RotateRefreshToken marks the token with this hash as used and adds next to its family,
	// for its user. A token that is unknown or expired is [ErrUnauthorized]; so is one that was
	// used before, and then its whole family is deleted.
	RotateRefreshToken(ctx context.Context, hash []byte, now time.Time, next RefreshToken) (userID string, err error)

	// UserByRefreshToken finds the user of a token that may be exchanged at now.
	UserByRefreshToken(ctx context.Context, hash []byte, now time.Time) (User, error)
	// DeleteFamily deletes the family of a token, if there is such a token.
	DeleteFamily(ctx context.Context, hash []byte) error
	CreateWorkspace(ctx context.Context, workspace Workspace) error
	// Workspaces returns up to limit workspaces of a user, by their ids, those after an id.
	Workspaces(ctx context.Context, userID, after string, limit int) ([]Workspace, error)
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
	// user, it writes nothing and returns the subject that the key made, or [ErrKeyReused], or
	// [ErrKeySpent]; while another call with the key goes on it waits for that, or returns
	// [ErrKeyInUse]. [ErrNotFound] when the avatar of a video has been deleted.
	CreateSubject(ctx context.Context, subject Subject, key IdempotencyKey) (Subject, error)
	Subject(ctx context.Context, id string) (Subject, error)
	// Subjects returns up to limit subjects, newest first, that come after a position; the zero
	// Position starts at the newest.
	Subjects(ctx context.Context, filter SubjectFilter, after Position, limit int) ([]Subject, error)
	// UpdateSubject reads a subject, calls change, and writes what change did to it, new events
	// included, all in one transaction. An error from change undoes everything and is returned.
	UpdateSubject(ctx context.Context, id string, change func(*Subject) error) (Subject, error)

	// CreationsInProgress counts the subjects of a user that wait for their rendering or are rendered.
	CreationsInProgress(ctx context.Context, userID string) (int, error)

	// AddUpload returns [ErrTooMuchMedia] when the uploads of the user that have not expired would have
	// more than so many bytes together.
	AddUpload(ctx context.Context, upload Upload, most int64) error
	// UploadedBytes is how many bytes they have.
	UploadedBytes(ctx context.Context, userID string, now time.Time) (int64, error)
	Upload(ctx context.Context, id string) (Upload, error)

	// SetProgress raises the progress of a subject that is processing.
	SetProgress(ctx context.Context, id string, percent int) error

	// DeleteSubject erases a subject, the videos made from it, the events of all of them that have
	// not been delivered, and the uploads of the user that no other subject of his is made from. It
	// returns what it erased. A subject that was deleted after the time again is left as it is, but
	// returned again. [ErrNotFound] when the user has none of this kind.
	DeleteSubject(ctx context.Context, userID string, kind Kind, id string, now, again time.Time) (Erased, error)

	// WebhookSecrets returns the secrets of a user that are in force at now, newest first.
	WebhookSecrets(ctx context.Context, userID string, now time.Time) ([]WebhookSecret, error)
	// AddWebhookSecret adds a secret. Those in force now end at oldEnd. When there are as many as
	// most, it adds nothing and returns [ErrTooManySecrets] with the time until the oldest has ended.
	AddWebhookSecret(ctx context.Context, userID, secret string, now, oldEnd time.Time, most int) error
}
