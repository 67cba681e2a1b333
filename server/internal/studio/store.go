package studio

import (
	"context"
	"time"
)

// Store stores the records of the domain. Each method is one transaction. If a record does not exist, the
// error is [ErrNotFound]. If a record with the same key exists, the error is [ErrExists].
type Store interface {
	CreateUser(ctx context.Context, user User) error
	// UserByEmail returns the user with a normalized email.
	UserByEmail(ctx context.Context, email string) (User, error)
	// SetPassword replaces the password hash and revokes all tokens, as RevokeTokens does.
	SetPassword(ctx context.Context, userID, hash string, now time.Time) error
	SetRole(ctx context.Context, userID string, role Role) error
	// RevokeTokens deletes all refresh tokens and known addresses of a user, and revokes all access tokens
	// issued until now.
	RevokeTokens(ctx context.Context, userID string, now time.Time) error
	// DeleteUser erases a user with all records except projects. It erases subjects as DeleteSubject does. It
	// returns the ids of the subjects and the keys of the uploads.
	DeleteUser(ctx context.Context, userID string, now time.Time) (subjects, uploads []string, err error)

	// LoginWait returns how long a login must wait, which is the longest wait of throttles, given the failures
	// that CountLogin has counted. It counts nothing.
	LoginWait(ctx context.Context, throttles []Throttle, now time.Time) (time.Duration, error)
	// CountLogin counts a failure for each of throttles. If the login must wait, it counts nothing and
	// returns how long.
	CountLogin(ctx context.Context, throttles []Throttle, now time.Time) (time.Duration, error)
	// UncountLogin undoes CountLogin after a login that did not fail, or whose password could not be compared.
	// If the login succeeded, it also resets the throttles with Forgets.
	UncountLogin(ctx context.Context, throttles []Throttle, succeeded bool) error
	// KnowsAddress reports whether SeeAddress was called for a user and an address after the given time.
	KnowsAddress(ctx context.Context, userID, address string, after time.Time) (bool, error)
	// SeeAddress makes an address known to a user at now. It may keep a time of up to a day before.
	SeeAddress(ctx context.Context, userID, address string, now time.Time) error

	// AddRefreshToken adds a token. If the user then has more than [MaxSessions] families, it deletes those
	// whose tokens expire first. The error is [ErrUnauthorized] if the user no longer has this password hash.
	AddRefreshToken(ctx context.Context, token RefreshToken, passwordHash string) error
	// RotateRefreshToken marks the token with the given hash as used, and adds next to its family and user.
	// The error is [ErrUnauthorized] if the token is unknown or expired, or has been used before. In the last
	// case, it also deletes the whole family.
	RotateRefreshToken(ctx context.Context, hash []byte, now time.Time, next RefreshToken) (userID string, err error)

	// UserByRefreshToken returns the user of a token that is valid at now.
	UserByRefreshToken(ctx context.Context, hash []byte, now time.Time) (User, error)
	// DeleteFamily deletes the family of a token. It does nothing if the token does not exist.
	DeleteFamily(ctx context.Context, hash []byte) error
	CreateWorkspace(ctx context.Context, workspace Workspace) error
	// Workspaces returns up to limit workspaces of a user, ordered by id, with ids greater than after.
	Workspaces(ctx context.Context, userID, after string, limit int) ([]Workspace, error)
	// AddMember is idempotent. The error is [ErrNotFound] if the workspace or the user does not exist.
	AddMember(ctx context.Context, workspaceID, userID string) error
	RemoveMember(ctx context.Context, workspaceID, userID string) error

	// ImportProjects adds all projects or none. If the error is [ErrExists], index is the project that
	// exists.
	ImportProjects(ctx context.Context, projects []Project) (index int, err error)
	// Projects returns up to limit projects of a workspace, newest first, that follow after. The zero Project
	// is before the newest. more reports whether others follow. If projects are large, a page has fewer than
	// limit, but at least one. The error is [ErrForbidden] if the user is not a member of the workspace.
	Projects(ctx context.Context, workspaceID, userID string, after Project, limit int) (page []Project, more bool, err error)

	// CreateSubject writes a new subject and its events. If the user has used key before and it has not
	// expired, it writes nothing. It then returns the subject created with the key, [ErrKeyReused] or
	// [ErrKeySpent]. If another call with the key is in progress, it waits for that call or returns
	// [ErrKeyInUse]. The error is [ErrNotFound] if the avatar of a video has been deleted.
	CreateSubject(ctx context.Context, subject Subject, key IdempotencyKey) (Subject, error)
	Subject(ctx context.Context, id string) (Subject, error)
	// Subjects returns up to limit subjects, newest first, that follow a position. The zero Position is
	// before the newest. more and the sizes of pages are as with Projects.
	Subjects(ctx context.Context, filter SubjectFilter, after Position, limit int) (page []Subject, more bool, err error)
	// UpdateSubject reads a subject, calls change, and writes the changed subject and its new events, in one
	// transaction. If change returns an error, nothing is written and UpdateSubject returns the error. It may
	// call change several times, each time with the subject as it was read, so change must have no other
	// effects.
	UpdateSubject(ctx context.Context, id string, change func(*Subject) error) (Subject, error)

	// CreationsInProgress returns the number of subjects of a user that are waiting to be rendered or being
	// rendered.
	CreationsInProgress(ctx context.Context, userID string) (int, error)

	// AddUpload adds an upload. The error is [ErrTooMuchMedia] if the unexpired uploads of the user would
	// exceed most bytes in total, and [ErrNotFound] if the user has been deleted.
	AddUpload(ctx context.Context, upload Upload, most int64) error
	// UploadedBytes returns the total size of the unexpired uploads of a user, in bytes.
	UploadedBytes(ctx context.Context, userID string, now time.Time) (int64, error)
	Upload(ctx context.Context, id string) (Upload, error)

	// SetProgress increases the progress of a subject that is processing.
	SetProgress(ctx context.Context, id string, percent int) error

	// DeleteSubject erases a subject, its videos, their undelivered events, and their uploads that no other
	// subject of the user uses. It returns what it has erased. If the subject was deleted after the time
	// again, it returns the same result without erasing anything. The error is [ErrNotFound] if the user has
	// no such subject of this kind.
	DeleteSubject(ctx context.Context, userID string, kind Kind, id string, now, again time.Time) (Erased, error)

	// WebhookSecrets returns the secrets of a user that are active at now, newest first.
	WebhookSecrets(ctx context.Context, userID string, now time.Time) ([]WebhookSecret, error)
	// AddWebhookSecret adds a secret. The active secrets then expire at oldEnd. If most secrets are
	// active, it adds nothing and returns [ErrTooManySecrets] with the time until the oldest expires.
	AddWebhookSecret(ctx context.Context, userID, secret string, now, oldEnd time.Time, most int) error

	// CountWebhookTest counts a sample notification under key in the current window. If the window is over at
	// now, a new one begins. If most have been counted in it, CountWebhookTest counts nothing and returns
	// [ErrTooManyTests] with the time until its end.
	CountWebhookTest(ctx context.Context, key string, now time.Time, window time.Duration, most int) error
}
