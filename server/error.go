package server

import (
	"errors"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// Error is an answer that an implementation gives by returning it. Everything but Err is shown
// to the caller and must not contain a submitted value; Err is logged. An error that is no
// *Error is a 500 with a fixed text.
type Error struct {
	// Status is the HTTP status, 400 to 599. Any other is answered as 500.
	Status int
	// Code names the kind of problem for programs, in snake case, such as
	// "avatar_not_published". Default: the name of the status, such as "not_found".
	Code string
	// Type is a URI that names the kind of problem, best one that answers its documentation.
	// Default "about:blank".
	Type string
	// Title is a short text for the kind of problem. Default: the text of the status.
	Title string
	// Detail says what went wrong in this case. Default: nothing.
	Detail string
	// Violations name the members that are at fault.
	Violations []gen.Violation
	// Extensions are further members of the problem document (RFC 9457, 3.2), by name. They must
	// be encodable as JSON. A name that the document defines is left out.
	Extensions map[string]any
	// RetryAfter is sent rounded up to seconds. Default: not sent.
	RetryAfter time.Duration
	// Header is added to the answer, which has a Content-Type of its own. Default: nothing.
	Header http.Header
	// Err is the cause, for the log alone.
	Err error
}

func (e *Error) Error() string {
	text := "server: " + http.StatusText(e.Status)
	if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// toError finds the answer in err.
func toError(err error) *Error {
	if known := (*Error)(nil); errors.As(err, &known) {
		if known == nil || known.Status < http.StatusBadRequest || known.Status > 599 {
			return internal(err)
		}
		return known
	}
	if invalid := (*validate.Error)(nil); errors.As(err, &invalid) {
		violations := make([]gen.Violation, len(invalid.Violations))
		for i, v := range invalid.Violations {
			violations[i] = gen.Violation{Pointer: v.Pointer, Keyword: v.Keyword, Detail: v.Detail}
		}
		return &Error{Status: invalid.Status, Detail: invalid.Detail, Violations: violations}
	}
	return internal(err)
}

// internal is the answer to a failure of the service.
func internal(cause error) *Error {
	return &Error{Status: http.StatusInternalServerError, Detail: "The service failed to answer this request.", Err: cause}
}
