package server

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// Error is an error response. Implementations, middleware and authenticators return it. All fields except Err
// are sent to the caller and must not contain values that the caller submitted; Err is logged. Any other
// error results in 500 and a fixed detail.
type Error struct {
	// Status is the HTTP status, from 400 to 599. Any other value results in 500.
	Status int
	// Code identifies the kind of problem for programs, in snake case, such as "avatar_not_published".
	// Defaults to the text of the status in snake case, such as "not_found".
	Code string
	// Detail explains this occurrence of the problem. Empty by default.
	Detail string
	// Violations lists the invalid parts of the request.
	Violations []gen.Violation
	// RetryAfter is sent as Retry-After, rounded up to whole seconds. If it is not positive, that in Header is sent,
	// and a 503 without one has one of one second.
	RetryAfter time.Duration
	// Header is added to the headers of the response. Its names are canonical. It cannot change the Content-Type.
	Header http.Header
	// Err is the cause. It is logged, as [WriteProblem] describes, and never sent.
	Err error
}

func (e *Error) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("server: %d %s", e.Status, http.StatusText(e.Status)))
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

// Busy returns a 503 with the code "service_busy", which tells the caller to retry after retryAfter. cause is
// the Err of the result and may be nil.
func Busy(retryAfter time.Duration, cause error) *Error {
	return &Error{
		Status: http.StatusServiceUnavailable, Code: "service_busy", Detail: "The service is busy. Try again later.",
		RetryAfter: retryAfter, Err: cause,
	}
}

// toError returns the response for err.
func toError(err error) *Error {
	err = notNil(err)
	if known, ok := errors.AsType[*Error](err); ok {
		if known.Status < http.StatusBadRequest || known.Status > 599 {
			return internalError(err)
		}
		return known
	}
	if invalid, ok := errors.AsType[*validate.Error](err); ok {
		violations := make([]gen.Violation, len(invalid.Violations))
		for i, v := range invalid.Violations {
			violations[i] = gen.Violation{Pointer: v.Pointer, Keyword: v.Keyword, Detail: v.Detail}
		}
		return &Error{Status: invalid.Status, Detail: invalid.Detail, Violations: violations, Err: invalid.Err}
	}
	if errors.Is(err, stream.ErrShutdown) {
		return &Error{Status: http.StatusServiceUnavailable, Code: "service_busy", Detail: "The service is shutting down."}
	}
	return internalError(err)
}

// notNil returns err, or an error that says so if it is a nil pointer, whose methods could panic, or wraps one.
func notNil(err error) error {
	for all := []error{err}; len(all) > 0; all = all[1:] {
		if v := reflect.ValueOf(all[0]); v.Kind() == reflect.Pointer && v.IsNil() {
			return internalError(fmt.Errorf("the error is a nil %T", all[0]))
		}
		switch e := all[0].(type) { //nolint:errorlint // what it wraps follows
		case *Error: // its Err is only logged
		case interface{ Unwrap() error }:
			all = append(all, e.Unwrap())
		case interface{ Unwrap() []error }:
			all = append(all, e.Unwrap()...)
		}
	}
	return err
}

// internalError returns the response for a failure of the service.
func internalError(cause error) *Error {
	return &Error{Status: http.StatusInternalServerError, Detail: "The service failed to process this request.", Err: cause}
}
