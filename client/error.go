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

// Classes of [*Error], for errors.Is.
var (
	ErrInvalid      = errors.New("client: the service finds the request invalid")       // 400, 413, 415, 422
	ErrUnauthorized = errors.New("client: the service refuses the credentials")         // 401
	ErrForbidden    = errors.New("client: the service forbids this")                    // 403
	ErrNotFound     = errors.New("client: there is no such record")                     // 404
	ErrConflict     = errors.New("client: the state of the record does not allow this") // 409
	ErrRateLimited  = errors.New("client: too many requests")                           // 429
	ErrServer       = errors.New("client: the service failed")                          // 5xx
	ErrDecode       = errors.New("client: the answer is not what was promised")         // 2xx
)

// ErrOutcomeUnknown is joined to the error of a write that may have succeeded although the client
// saw it fail. That is so
//   - if no attempt succeeded, and one of them was sent but got no answer, or was answered with 408
//     or with 5xx other than 501 and 503 with Retry-After;
//   - if the answer is a success that cannot be read ([ErrDecode]).
//
// It is rare for a creation, which is retried with its idempotency key until an attempt succeeds.
// With [WithIdempotencyKey], 408 and 5xx count only if 409 follows, which says that the earlier
// attempt is still running: otherwise the caller can make the call again with that key. Other
// writes, such as [Client.SubmitConsent], have no key and are not retried after these failures.
var ErrOutcomeUnknown = errors.New("client: the outcome is unknown")

const (
	noteNotPromised = "the body is not the promised JSON"
	noteTooLarge    = "the body is too large"
)

// Error is an answer of the service that is not a success, redirects included, or a success
// whose body is not what the document promises ([ErrDecode]). Only pointers are errors.
//
// A request that got no answer fails with a [*url.Error] that keeps its cause.
type Error struct {
	// Operation is the method and the path of the request.
	Operation string

	// StatusCode is the status of the answer.
	StatusCode int

	// Code is the kind of problem, such as "avatar_not_published". The document lists them. It is empty
	// if the service names none.
	Code string

	// Problem is what the service says about it. It is zero if the answer is no problem document.
	Problem gen.Problem

	// RequestID names the request in the log of the service. It may be empty.
	RequestID string

	// ContentType is what the service declares the body to be.
	ContentType string

	// RetryAfter is how long the service asks to wait. Zero if it does not.
	RetryAfter time.Duration

	// Attempts is how many times the request was sent.
	Attempts int

	note  string
	asked bool // there is a Retry-After, be it zero
}

// Error shows the operation, the status, what the problem document says, and the request id: no
// query, and nothing else of a header or a body but the type of one that was not promised.
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
	switch e.StatusCode / 100 {
	case 2:
		return ErrDecode
	case 5:
		return ErrServer
	}
	return nil
}

func newError(response *http.Response, note string) *Error {
	wait, asked := retryAfter(response.Header.Get("Retry-After"))
	return &Error{
		Operation:   response.Request.Method + " " + response.Request.URL.Path,
		StatusCode:  response.StatusCode,
		RequestID:   response.Header.Get("X-Request-Id"),
		ContentType: response.Header.Get("Content-Type"),
		RetryAfter:  wait,
		note:        note,
		asked:       asked,
	}
}

func newProblemError(response *http.Response, body []byte) *Error {
	e := newError(response, "")
	if isJSON(response) {
		_ = json.Unmarshal(body, &e.Problem) // what cannot be read stays zero
	}
	if e.Problem.Code != nil {
		e.Code = *e.Problem.Code
	}
	if e.RequestID == "" && e.Problem.RequestID != nil {
		e.RequestID = *e.Problem.RequestID
	}
	return e
}

// notPromised is the error for a successful answer of the doer that has the wrong members.
func notPromised(response *http.Response) error {
	e := newError(response, noteNotPromised)
	a := response.Body.(*answer)
	e.Attempts = a.attempts
	return withOutcome(e, a.operation.class() == creating)
}

func withOutcome(err error, unknown bool) error {
	if unknown {
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return err
}

// retryAfter reads a number of seconds or a date.
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

// clean makes a text of the service fit for one line of a log.
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
