package studio

import (
	"errors"
	"time"
)

// Errors of the use cases. All other errors are failures of the service.
var (
	// ErrNotFound is returned if the user has no such record.
	ErrNotFound = errors.New("studio: not found")
	// ErrExists is returned if a record with this id or name exists.
	ErrExists = errors.New("studio: already exists")
	// ErrUnauthorized is returned if the email, the password or the token is wrong.
	ErrUnauthorized = errors.New("studio: wrong credentials")
	// ErrForbidden is returned if the user is not a member of the workspace, or the workspace does not exist.
	ErrForbidden = errors.New("studio: not a member of the workspace")
	// ErrOtherWorkspace is returned if what a caller of [OnlyWorkspace] asks for would change another workspace.
	ErrOtherWorkspace = errors.New("studio: another workspace would change")
	// ErrFinal is returned for a decision about an avatar in a final state.
	ErrFinal = errors.New("studio: the avatar is in a final state")
	// ErrNotPublished is returned for a video of an avatar that is not published.
	ErrNotPublished = errors.New("studio: the avatar is not published")
	// ErrKeyReused is returned if the idempotency key was used with a different request.
	ErrKeyReused = errors.New("studio: the idempotency key belongs to another request")
	// ErrCursor is returned if the cursor does not belong to the list.
	ErrCursor = errors.New("studio: the cursor does not belong to this list")
	// ErrKeyInUse is returned if a request with the idempotency key is in progress.
	ErrKeyInUse = errors.New("studio: a request with the idempotency key is in progress")
	// ErrRange is returned if a range of times ends before it begins.
	ErrRange = errors.New("studio: the range ends before it begins")
	// ErrPosition is returned if the position is not one of a stream of the user.
	ErrPosition = errors.New("studio: the position does not belong to this stream")
	// ErrReplayEmpty is returned for a replay with neither IDs of events nor a range.
	ErrReplayEmpty = errors.New("studio: the replay selects no events")
	// ErrTitle is returned for a title with U+0000, which not all databases can store.
	ErrTitle = errors.New("studio: the title contains U+0000")
	// ErrText is returned for a text to be spoken that has neither a letter nor a digit.
	ErrText = errors.New("studio: the text cannot be spoken")
	// ErrImported is returned for a change of an imported project.
	ErrImported = errors.New("studio: the project is imported")
	// ErrThumbnail is returned if a custom thumbnail is no uploaded picture of the user, or is larger than 10 MiB.
	ErrThumbnail = errors.New("studio: the thumbnail is no uploaded picture")
	// ErrNoVideo is returned if an avatar is to be shared.
	ErrNoVideo = errors.New("studio: the project has no video")
	// ErrCreditsExhausted is returned if the videos of the user have used MaxVideoSeconds.
	ErrCreditsExhausted = errors.New("studio: the credits of the user are exhausted")
	// ErrUnavailable is returned by a renderer or a [Media] if a resource that it needs, such as a disk, is full or
	// unavailable. It is not an error of the user or the renderer. A retry may succeed.
	ErrUnavailable = errors.New("studio: a resource is not available")
	// ErrTooMuchMedia is returned if the uploads of the user would exceed the limit on their total size.
	ErrTooMuchMedia = errors.New("studio: too many bytes of uploads")
	// ErrBusy is returned if too much work is queued. A retry may succeed.
	ErrBusy = errors.New("studio: too busy")
)

// Errors of limits per user. A [*LimitError] wraps them with the time after which a retry may succeed.
var (
	// ErrTooManyTries is returned if a login must wait because of earlier failures.
	ErrTooManyTries = errors.New("studio: too many failed logins")
	// ErrTooManySecrets is returned if the user has the maximum number of active webhook secrets.
	ErrTooManySecrets = errors.New("studio: too many active webhook secrets")
	// ErrTooManyTests is returned if the user has sent too many sample notifications.
	ErrTooManyTests = errors.New("studio: too many sample notifications")
	// ErrTooManyCreations is returned if the user has too many creations in progress.
	ErrTooManyCreations = errors.New("studio: too many creations in progress")
	// ErrTooManyStreams is returned if the user has too many open streams of events.
	ErrTooManyStreams = errors.New("studio: too many open streams")
	// ErrTooManyReplays is returned if the user has too many replays that are not finished.
	ErrTooManyReplays = errors.New("studio: too many replays in progress")
)

// LimitError is a limit with the time after which a retry may succeed.
type LimitError struct {
	Limit      error
	RetryAfter time.Duration
}

func (e *LimitError) Error() string { return e.Limit.Error() }

// Unwrap returns the limit.
func (e *LimitError) Unwrap() error { return e.Limit }

// InvalidError names the member of a well-formed request that is invalid.
type InvalidError struct {
	Code    string // error code of the document
	Pointer string // JSON pointer into the request
	Detail  string // safe to send to the user; never contains a submitted value
}

func (e *InvalidError) Error() string { return "studio: " + e.Pointer + " " + e.Detail }
