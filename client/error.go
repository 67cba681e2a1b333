package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/avatarstudio/avatarstudio/gen"
)

// Classes of [*Error], for use with errors.Is.
var (
	ErrInvalid      = errors.New("client: the service rejects the request as invalid")         // 400, 413, 415, 422
	ErrUnauthorized = errors.New("client: the service rejects the credentials")                // 401
	ErrForbidden    = errors.New("client: the service forbids the request")                    // 403
	ErrNotFound     = errors.New("client: no such record")                                     // 404
	ErrConflict     = errors.New("client: the state of the record does not allow the request") // 409
	ErrRateLimited  = errors.New("client: too many requests")                                  // 429
	ErrServer       = errors.New("client: the service failed")                                 // 5xx, and what is no status
	ErrDecode       = errors.New("client: the response does not match the document")           // 2xx
)

// ErrOutcomeUnknown is joined to the error of a write that may have succeeded although the call failed.
// That is the case if
//
//   - no attempt succeeded, and at least one was sent but got no response, a 408, or a 5xx other than 501 and
//     503 with Retry-After; or
//   - the response is a success that cannot be decoded ([ErrDecode]).
//
// A creation rarely fails this way, because it is retried with its idempotency key until an attempt succeeds.
// If the caller chose the key with [WithIdempotencyKey], he can repeat the call with that key. Other writes, such as
// [Client.SubmitConsent], have no key and are not retried after these failures.
var ErrOutcomeUnknown = errors.New("client: the outcome is unknown")

const (
	noteNotPromised = "the body is not as documented" // which may be in JSON, text or a stream
	noteTooLarge    = "the body is too large"

	noteItem         = "an item is not the documented JSON"
	noteItemTooLarge = "an item is too large"

	mediaProblem = "application/problem+json"
)

// Error is a response that is not a success, redirects included, or a success whose body the document does
// not allow ([ErrDecode]). The type *Error implements error.
//
// If the service does not respond, the error is a [*url.Error] that wraps the cause.
type Error struct {
	// Operation is the method and path of the request.
	Operation string

	// StatusCode is the status of the response.
	StatusCode int

	// Code is the kind of problem, such as "avatar_not_published". The document lists all codes. It is
	// empty if the response has none.
	Code string

	// Problem is the problem document of the response. It is zero if the response has none.
	Problem gen.Problem

	// RequestID identifies the request in the log of the service. It may be empty.
	RequestID string

	// ContentType is the media type of the response.
	ContentType string

	// RetryAfter is the time that the service asks to wait before a retry, or zero.
	RetryAfter time.Duration

	// Attempts is the number of attempts that were made.
	Attempts int

	note          string
	hasRetryAfter bool // the response has Retry-After, even if zero
}

// Error describes the operation, the status, the problem document and the request id. It includes the
// media type of a response that the document does not allow, but no query and no other part of the headers
// or the body.
func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString("client: ")
	if e.Operation != "" {
		text.WriteString(e.Operation + ": ")
	}
	text.WriteString(strings.TrimSpace(strconv.Itoa(e.StatusCode) + " " + http.StatusText(e.StatusCode)))
	switch {
	case e.note != "" && e.ContentType != "":
		fmt.Fprintf(&text, ": %s (%s)", e.note, clean(e.ContentType))
	case e.note != "":
		text.WriteString(": " + e.note)
	case e.Problem.Detail != nil && *e.Problem.Detail != "":
		text.WriteString(": " + clean(*e.Problem.Detail))
	case e.Problem.Title != http.StatusText(e.StatusCode) && e.Problem.Title != "":
		text.WriteString(": " + clean(e.Problem.Title))
	}
	if e.Problem.Errors != nil {
		for _, violation := range (*e.Problem.Errors)[:min(len(*e.Problem.Errors), 3)] {
			text.WriteString(" [" + strings.TrimSpace(clean(violation.Pointer)+" "+clean(violation.Detail)) + "]")
		}
	}
	if e.RequestID != "" {
		fmt.Fprintf(&text, " (request %s)", clean(e.RequestID))
	}
	return text.String()
}

// Is reports whether target is the class of e.
func (e *Error) Is(target error) bool {
	class := e.class()
	return class != nil && target == class
}

func (e *Error) class() error {
	switch e.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return ErrInvalid
	case http.StatusUnauthorized:
		return ErrUnauthorized
	case http.StatusForbidden:
		return ErrForbidden
	case http.StatusNotFound:
		return ErrNotFound
	case http.StatusConflict:
		return ErrConflict
	case http.StatusTooManyRequests:
		return ErrRateLimited
	}
	switch {
	case e.StatusCode/100 == 2:
		return ErrDecode
	case e.StatusCode < 200 || e.StatusCode >= 500: // RFC 9110, section 15: what is no status is a 5xx
		return ErrServer
	}
	return nil
}

func newError(response *http.Response, note string) *Error {
	wait, hasRetryAfter := retryAfter(response.Header.Get("Retry-After"))
	return &Error{
		Operation:     response.Request.Method + " " + response.Request.URL.Path,
		StatusCode:    response.StatusCode,
		RequestID:     response.Header.Get("X-Request-Id"),
		ContentType:   response.Header.Get("Content-Type"),
		RetryAfter:    wait,
		note:          note,
		hasRetryAfter: hasRetryAfter,
	}
}

func newProblemError(response *http.Response, body []byte) *Error {
	e := newError(response, "")
	if isJSON(response) {
		e.setProblem(body)
	}
	return e
}

func (e *Error) setProblem(body []byte) {
	_ = json.Unmarshal(body, &e.Problem) // a member that cannot be decoded stays zero
	if e.Problem.Code != nil {
		e.Code = *e.Problem.Code
	}
	if e.RequestID == "" && e.Problem.RequestID != nil {
		e.RequestID = *e.Problem.RequestID
	}
}

// notDocumented returns the error for a success with the wrong members.
func notDocumented(a *attempt) error {
	e := newError(a.response, noteNotPromised)
	e.Attempts = a.call.attempts
	return withOutcome(e, a.call.operation.once())
}

func withOutcome(err error, unknown bool) error {
	if unknown {
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return err
}

// retryAfter parses a Retry-After header, which has a number of seconds or a date.
func retryAfter(text string) (time.Duration, bool) {
	if seconds, err := strconv.ParseUint(text, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		const most = uint64(math.MaxInt64 / time.Second)
		return time.Duration(min(seconds, most)) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at)), true
	}
	return 0, false
}

// clean makes text from the service safe to print on one line.
func clean(text string) string {
	const limit = 256
	runes := []rune(text[:min(len(text), 4*limit)])
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = ' '
		}
	}
	return string(runes[:min(len(runes), limit)])
}
