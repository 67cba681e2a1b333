// Package webhook receives the notifications of Avatar Studio.
//
// A [Receiver] is an http.Handler for the URL that was registered with an avatar or a lip-sync. One URL
// can receive all events. The service signs notifications according to Standard Webhooks, and
// [StandardWebhooks] verifies them. [Sign] and [Verify] sign and verify single notifications.
package webhook

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

const maxBody = 1 << 20

// claimTimeout limits the commit or release of a claim after a callback, when the request may have ended.
const claimTimeout = 5 * time.Second

// Errors of [Receiver.Handle], with the status with which [Receiver.ServeHTTP] responds.
var (
	ErrTooLarge   = errors.New("webhook: the body is larger than 1 MiB")                 // 413
	ErrRefused    = errors.New("webhook: the notification is not verified")              // 401
	ErrMalformed  = errors.New("webhook: the body is not an event")                      // 400
	ErrCallback   = errors.New("webhook: the callback failed")                           // 500
	ErrClaims     = errors.New("webhook: Claims failed")                                 // 500
	ErrInProgress = errors.New("webhook: another request is handling this notification") // 503
)

// Receiver handles the notifications that are sent to one URL. [NewReceiver] makes one; the zero Receiver is invalid. A
// Receiver is safe for concurrent use.
//
// A notification may arrive more than once, and, after a replay, later than newer ones. A Receiver
// acknowledges these notifications without calling the callback of their type:
//
//   - a duplicate, whose webhook-id was handled before;
//   - a stale event, whose webhook-sequence is not above that of the last event handled for the same avatar,
//     video or lip-sync. [Handlers.Stale] is called for it.
//
// A notification without an id is always handled, and one without a sequence is never stale. The Receiver
// stores the last event of at least 10,000 avatars, videos and lip-syncs in memory. It ignores the events of other
// processes. If two events of the same record arrive at the same time, it handles both.
//
// A body must decode into the generated types. A member of the wrong type or a missing id is
// [ErrMalformed]. Unknown members are ignored, and of duplicate members the last one wins.
type Receiver struct {
	// Claims records the notifications that were handled. Set it before the first use to share it with
	// other processes. [NewReceiver] sets it to [NewMemoryClaims] with 10,000 ids. If Claims is nil, every
	// delivery is handled.
	//
	// If Claim fails, the Receiver asks the service to retry the delivery. If Commit fails, the Receiver
	// still acknowledges the notification, because it was handled. If Release fails, the claim
	// stays until it expires.
	Claims Claims

	handlers  Handlers
	verifier  Verifier
	sequences sequences
}

// NewReceiver returns a Receiver that calls handlers for the notifications that verifier accepts. It returns
// an error without a verifier or a callback for events.
func NewReceiver(handlers Handlers, verifier Verifier) (*Receiver, error) {
	switch {
	case handlers.none():
		return nil, errors.New("webhook: Handlers has no callback")
	case verifier == nil:
		return nil, errors.New("webhook: a Verifier is required; Unverified is the one that accepts everything")
	}
	return &Receiver{
		Claims:    NewMemoryClaims(remembered),
		handlers:  handlers,
		verifier:  verifier,
		sequences: sequences{last: newRecent[position](remembered)},
	}, nil
}

// ServeHTTP responds with 204 if the notification was handled or dropped, with 405 if the method is not
// POST, and with 408 if the body did not arrive within the ReadTimeout of the server. The comments on the
// errors of [Receiver.Handle] list the other statuses. All responses are empty. ServeHTTP sets no deadline
// for reading the body; the server must. If a callback panics, ServeHTTP does too, and the service retries the
// delivery because the server ends the connection. The context of the request is that of the callbacks, so a
// handler around the Receiver can continue the trace of a traceparent header, which is not signed.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBody))
	if err == nil {
		err = r.Handle(request.Context(), request.Header, body)
	}
	code := status(err)
	if code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(code)
}

// Handle handles a notification that did not arrive through [Receiver.ServeHTTP]. It verifies body, which
// must be the bytes as received, decodes it and calls the callback. The names in header must be in
// canonical form. The error is [ErrTooLarge], [ErrRefused], [ErrMalformed], [ErrCallback], [ErrClaims] or
// [ErrInProgress], and wraps the error of the verifier, the callback or the claims.
func (r *Receiver) Handle(ctx context.Context, header http.Header, body []byte) error {
	if len(body) > maxBody {
		return ErrTooLarge
	}
	if err := r.verifier(header, body); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	e, err := r.handlers.decode(body)
	if err != nil {
		return err
	}
	delivery := newDelivery(header)
	// A notification is claimed only now, so that an attacker cannot use up ids.
	if r.Claims == nil || delivery.ID == "" {
		return r.call(ctx, e, delivery)
	}
	switch result, err := r.Claims.Claim(ctx, delivery.ID); {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrClaims, err)
	case result == Done:
		return nil
	case result == InProgress:
		return ErrInProgress
	case result != Claimed:
		return fmt.Errorf("%w: Claim returned %d", ErrClaims, result)
	}
	handled := false
	defer func() { r.endClaim(ctx, delivery.ID, handled) }()
	err = r.call(ctx, e, delivery)
	handled = err == nil
	return err
}

func (r *Receiver) call(ctx context.Context, e event, delivery Delivery) error {
	ordered := e.subject != "" && delivery.ID != "" && delivery.Sequence != 0
	subject := sha256.Sum256([]byte(string(e.EventType) + "\x00" + e.subject))
	at := position{delivery.Sequence, sha256.Sum256([]byte(delivery.ID))}
	if ordered && r.sequences.stale(subject, at) {
		if r.handlers.Stale != nil {
			r.handlers.Stale(ctx, e.Event, delivery)
		}
		return nil
	}
	if err := e.call(ctx, delivery); err != nil {
		return fmt.Errorf("%w: %w", ErrCallback, err)
	}
	if ordered {
		r.sequences.handled(subject, at)
	}
	return nil
}

// endClaim commits or releases a claim. It ignores errors, as [Receiver.Claims] documents.
func (r *Receiver) endClaim(ctx context.Context, id string, handled bool) {
	ctx = context.WithoutCancel(ctx)
	if _, inMemory := r.Claims.(*memoryClaims); !inMemory { // which never waits, and a timer costs more than it does
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, claimTimeout)
		defer cancel()
	}
	if handled {
		_ = r.Claims.Commit(ctx, id)
	} else {
		_ = r.Claims.Release(ctx, id)
	}
}

// status checks ErrCallback and ErrClaims first, because they may wrap any other error.
func status(err error) int {
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case err == nil:
		return http.StatusNoContent
	case errors.Is(err, ErrCallback) || errors.Is(err, ErrClaims):
		return http.StatusInternalServerError
	case errors.Is(err, ErrRefused):
		return http.StatusUnauthorized
	case errors.Is(err, ErrInProgress):
		return http.StatusServiceUnavailable
	case tooLarge:
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded): // deadline of the server while it read the body
		return http.StatusRequestTimeout
	}
	return http.StatusBadRequest
}
