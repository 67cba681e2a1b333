package studio

import (
	"errors"
	"time"
)

// Errors of the use cases. Anything else is a failure of the service itself.
var (
	// ErrNotFound: the caller has no such record.
	ErrNotFound = errors.New("studio: not found")
	// ErrExists: a record with this id or name exists.
	ErrExists = errors.New("studio: already exists")
	// ErrUnauthorized: the email, the password or the token is wrong.
	ErrUnauthorized = errors.New("studio: wrong credentials")
	// ErrForbidden: the caller is no member of the workspace, or there is none.
	ErrForbidden = errors.New("studio: not a member of the workspace")
	// ErrFinal: the avatar is in a final state and takes no decision.
	ErrFinal = errors.New("studio: the avatar is in a final state")
	// ErrNotPublished: videos are made from published avatars only.
	ErrNotPublished = errors.New("studio: the avatar is not published")
	// ErrKeyReused: the idempotency key came with another request before.
	ErrKeyReused = errors.New("studio: the idempotency key belongs to another request")
	// ErrKeySpent: what the idempotency key created has been deleted.
	ErrKeySpent = errors.New("studio: what the idempotency key created has been deleted")
	// ErrCursor: the cursor is not one of this list.
	ErrCursor = errors.New("studio: the cursor is not one of this list")
	// ErrKeyInUse: a creation with the idempotency key has not ended.
	ErrKeyInUse = errors.New("studio: a creation with the idempotency key has not ended")
	// ErrTitle: the title has a U+0000, which not every database keeps.
	ErrTitle = errors.New("studio: the title has a U+0000")
	// ErrUnavailable: what a rendering needs is away or full, such as a disk. That is nobody's fault.
	ErrUnavailable = errors.New("studio: what a rendering needs is not there")
	// ErrTooMuchMedia: the uploads of the user would be larger together than they may be.
	ErrTooMuchMedia = errors.New("studio: too many bytes of uploads")
	// ErrBusy: more work is waiting than the service takes; a later try may succeed.
	ErrBusy = errors.New("studio: too busy")
)

// Errors of what a user may do so many times only. A [*LimitError] says when it may be done again.
var (
	// ErrTooManyTries: the account is closed to further tries to log in.
	ErrTooManyTries = errors.New("studio: too many failed tries")
	// ErrTooManySecrets: no more webhook secrets can be in force.
	ErrTooManySecrets = errors.New("studio: too many webhook secrets in force")
	// ErrTooManyTests: no more sample notifications are sent.
	ErrTooManyTests = errors.New("studio: too many sample notifications")
	// ErrTooManyCreations: too many creations are in progress.
	ErrTooManyCreations = errors.New("studio: too many creations in progress")
)

// LimitError says when something may be done again.
type LimitError struct {
	Limit      error
	RetryAfter time.Duration
}

func (e *LimitError) Error() string { return e.Limit.Error() }

// Unwrap returns the limit.
func (e *LimitError) Unwrap() error { return e.Limit }

// InvalidError names the member of a well-formed request that cannot be carried out.
type InvalidError struct {
	Code    string // of the document
	Pointer string // JSON pointer into the request
	Detail  string // safe to show; never a submitted value
}

func (e *InvalidError) Error() string { return "studio: " + e.Pointer + " " + e.Detail }
