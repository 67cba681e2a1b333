package studio

import (
	"errors"
	"net/http"
	"strings"
	"time"
)

// Error is an error of a use case that is about the request, the user or the load, with the response that the API
// gives. Its texts are safe to send to the user, and never contain a submitted value.
type Error struct {
	Status int    // HTTP status
	Code   string // error code of the document
	Detail string

	// Pointer is the place of the request that is invalid, such as "/title" or "query:cursor", Keyword the kind of the
	// rule that it breaks, and Reason what it must be. Pointer is "" if the error is not about a place.
	Pointer, Keyword, Reason string

	// RetryAfter is the time after which a retry may succeed, if it is known.
	RetryAfter time.Duration

	of error // nil, or what this is a copy of
}

func (e *Error) Error() string {
	if e.Pointer != "" {
		return "studio: " + e.Pointer + " " + e.Reason
	}
	return "studio: " + strings.ToLower(e.Detail[:1]) + strings.TrimSuffix(e.Detail[1:], ".")
}

// Unwrap returns the error of which e is a copy.
func (e *Error) Unwrap() error { return e.of }

// After returns a copy of e that wraps e, for which a retry may succeed after a time.
func (e *Error) After(d time.Duration) error {
	later := *e
	later.RetryAfter, later.of = d, e
	return &later
}

func refuse(status int, code, detail string) *Error {
	e := &Error{Status: status, Code: code, Detail: detail}
	if status == http.StatusServiceUnavailable {
		e.RetryAfter = busyPause
	}
	return e
}

// about sets the place of the request that is invalid.
func (e *Error) about(pointer, keyword, reason string) *Error {
	e.Pointer, e.Keyword, e.Reason = pointer, keyword, reason
	return e
}

// busyPause is the time after which a retry may succeed if the service is busy.
const busyPause = 5 * time.Second

// Unavailable returns an error that wraps [ErrUnavailable] and its cause. It has the text of its cause, which operators
// read and users do not.
func Unavailable(cause error) error { return unavailableError{cause} }

type unavailableError struct{ error }

func (e unavailableError) Unwrap() []error { return []error{ErrUnavailable, e.error} }

// ErrExists is returned if a record with this id or name exists.
var ErrExists = errors.New("studio: already exists")

// Errors of the use cases. All others that are not an [*Error] are failures of the service, or errors of operators.
var (
	// ErrNotFound is returned if the user has no such record.
	ErrNotFound = refuse(http.StatusNotFound, "not_found", "There is no such record.")
	// ErrUnauthorized is returned if the email, the password or the token is wrong.
	ErrUnauthorized = refuse(http.StatusUnauthorized, "wrong_credentials", "The credentials are wrong.")
	// ErrForbidden is returned if the user is not a member of the workspace, or the workspace does not exist.
	ErrForbidden = refuse(http.StatusForbidden, "not_a_member", "You are not a member of this workspace.")
	// ErrOtherWorkspace is returned if what a caller of [OnlyWorkspace] asks for would change another workspace.
	ErrOtherWorkspace = refuse(http.StatusForbidden, "api_key_workspace", "This API key is for one workspace, and the avatar has videos in others.")
	// ErrFinal is returned for a decision about an avatar in a final state.
	ErrFinal = refuse(http.StatusConflict, "avatar_final", "The avatar is in a final state.")
	// ErrNotPublished is returned for a video of an avatar that is not published.
	ErrNotPublished = refuse(http.StatusConflict, "avatar_not_published", "The avatar is not published.")
	// ErrKeyReused is returned if the idempotency key was used with a different request.
	ErrKeyReused = refuse(http.StatusUnprocessableEntity, "idempotency_key_reused", "The Idempotency-Key was used with another request.").
			about("header:Idempotency-Key", "idempotency", "must be new for a new request")
	// ErrCursor is returned if the cursor does not belong to the list.
	ErrCursor = refuse(http.StatusBadRequest, "cursor_invalid", "The request does not match the interface.").
			about("query:cursor", "cursor", "must be a next_cursor of the same list")
	// ErrKeyInUse is returned if a request with the idempotency key is in progress.
	ErrKeyInUse = refuse(http.StatusConflict, "idempotency_key_in_use", "A request with the same Idempotency-Key is still running.")
	// ErrRange is returned if a range of times ends before it begins.
	ErrRange = refuse(http.StatusUnprocessableEntity, "range_invalid", "The range ends before it begins.").
			about("query:since", "range", "must not be after until")
	// ErrPosition is returned if the position is not one of a stream of the user.
	ErrPosition = refuse(http.StatusBadRequest, "position_unknown", "The request does not match the interface.").
			about("header:Last-Event-ID", "cursor", "must be the id of an item of this stream")
	// ErrReplayEmpty is returned for a replay with neither IDs of events nor a range.
	ErrReplayEmpty = refuse(http.StatusUnprocessableEntity, "replay_empty", "The replay selects no events.").
			about("/event_ids", "range", "is required without since and until")
	// ErrTitle is returned for a title with U+0000, which not all databases can store.
	ErrTitle = refuse(http.StatusUnprocessableEntity, "title_invalid", "The title cannot be stored.").
			about("/title", "text", "must not contain U+0000")
	// ErrText is returned for a text to be spoken that has neither a letter nor a digit.
	ErrText = refuse(http.StatusUnprocessableEntity, "text_not_speakable", "The text cannot be spoken.").
		about("/text", "text", "must contain a letter or a digit")
	// ErrImported is returned for a change of an imported project.
	ErrImported = refuse(http.StatusConflict, "project_imported", "Imported projects cannot be changed.")
	// ErrThumbnail is returned if a custom thumbnail is no uploaded picture of the user, or is larger than 10 MiB.
	ErrThumbnail = refuse(http.StatusUnprocessableEntity, "thumbnail_invalid", "The file cannot be the thumbnail of a project.").
			about("/custom_thumbnail", "media", "must be the media_id of a JPEG, PNG, WebP or GIF of at most 10 MiB")
	// ErrNoVideo is returned if an avatar is to be shared.
	ErrNoVideo = refuse(http.StatusConflict, "project_without_video", "The project is an avatar and has no video to share.")
	// ErrCreditsExhausted is returned if the videos of the user have used MaxVideoSeconds.
	ErrCreditsExhausted = refuse(http.StatusForbidden, "credits_exhausted", "You have used all your seconds of video.")
	// ErrUnavailable is returned by a renderer or a [Media] if a resource that it needs, such as a disk, is full or
	// unavailable. It is not an error of the user or the renderer. A retry may succeed.
	ErrUnavailable = refuse(http.StatusServiceUnavailable, "service_busy", "The service is busy. Try again later.")
	// ErrTooMuchMedia is returned if the uploads of the user would exceed the limit on their total size.
	ErrTooMuchMedia = refuse(http.StatusRequestEntityTooLarge, "too_much_media", "Your files would be larger together than the service keeps.")
	// ErrBusy is returned if too much work is queued. A retry may succeed.
	ErrBusy = refuse(http.StatusServiceUnavailable, "service_busy", "The service is busy. Try again later.")
	// ErrTooManyTries is returned if a login must wait because of earlier failures.
	ErrTooManyTries = refuse(http.StatusTooManyRequests, "too_many_login_tries", "Too many failed logins. Try again later.")
	// ErrTooManySecrets is returned if the user has the maximum number of active webhook secrets.
	ErrTooManySecrets = refuse(http.StatusTooManyRequests, "too_many_webhook_secrets", "Too many secrets are active. Try again later.")
	// ErrTooManyTests is returned if the user has sent too many sample notifications.
	ErrTooManyTests = refuse(http.StatusTooManyRequests, "too_many_webhook_tests", "Too many sample notifications. Try again later.")
	// ErrTooManyCreations is returned if the user has too many creations in progress.
	ErrTooManyCreations = refuse(http.StatusTooManyRequests, "too_many_creations", "Too many creations are in progress. Try again later.")
	// ErrTooManyStreams is returned if the user has too many open streams of events.
	ErrTooManyStreams = refuse(http.StatusTooManyRequests, "too_many_streams", "Too many streams are open. Close one, or try again later.")
	// ErrTooManyReplays is returned if the user has too many replays that are not finished.
	ErrTooManyReplays = refuse(http.StatusTooManyRequests, "too_many_replays", "Too many replays are in progress. Try again later.")
)
