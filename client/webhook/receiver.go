package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

const maxBody = 1 << 20

// Errors of [Receiver.Handle], with the status that [Receiver.ServeHTTP] answers for them.
var (
	ErrTooLarge  = errors.New("webhook: the body is larger than 1 MiB")    // 413
	ErrRefused   = errors.New("webhook: the notification is not verified") // 401
	ErrMalformed = errors.New("webhook: the body is not an event")         // 400
	ErrCallback  = errors.New("webhook: the callback failed")              // 500
)

// Receiver takes the notifications that are sent to one URL. It is safe for concurrent use.
type Receiver struct {
	handlers Handlers
	verifier Verifier
}

// NewReceiver returns a Receiver that calls handlers for what verifier accepts.
func NewReceiver(handlers Handlers, verifier Verifier) (*Receiver, error) {
	switch {
	case handlers.Unhandled == nil:
		return nil, errors.New("webhook: Handlers.Unhandled is required")
	case verifier == nil:
		return nil, errors.New("webhook: a Verifier is required; Unverified is the one that accepts everything")
	}
	return &Receiver{handlers: handlers, verifier: verifier}, nil
}

// ServeHTTP answers 204 to a notification that was handled. Every answer is empty. A panic of
// a callback is answered 500 and passed on, for the server to report it.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	defer func() {
		if reason := recover(); reason != nil {
			if reason != http.ErrAbortHandler { //nolint:errorlint // a panic is that very value or no error at all
				answerAndFlush(w, http.StatusInternalServerError)
			}
			panic(reason)
		}
	}()
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBody))
	if err == nil {
		err = r.handle(request.Context(), Notification{URL: request.URL, Header: request.Header, Body: body})
	}
	w.WriteHeader(status(err))
}

// Handle does without net/http what [Receiver.ServeHTTP] does: it verifies body as it was
// received, decodes it and calls the callback. The error is [ErrTooLarge], [ErrRefused],
// [ErrMalformed] or [ErrCallback], wrapping what the verifier or the callback returned.
func (r *Receiver) Handle(ctx context.Context, header http.Header, body []byte) error {
	return r.handle(ctx, Notification{Header: header, Body: body})
}

func (r *Receiver) handle(ctx context.Context, n Notification) error {
	if len(n.Body) > maxBody {
		return ErrTooLarge
	}
	if err := r.verifier.Verify(n); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return r.handlers.dispatch(ctx, n.Body, newDelivery(n.Header))
}

// status has ErrCallback first, because the error of a callback may be any error.
func status(err error) int {
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case err == nil:
		return http.StatusNoContent
	case errors.Is(err, ErrCallback):
		return http.StatusInternalServerError
	case errors.Is(err, ErrRefused):
		return http.StatusUnauthorized
	case errors.Is(err, ErrTooLarge) || tooLarge:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

// answerAndFlush sends the whole answer now, because after a panic net/http sends nothing.
func answerAndFlush(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(status)
	_ = http.NewResponseController(w).Flush()
}
