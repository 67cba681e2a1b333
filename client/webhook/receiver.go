// Package webhook receives the notifications of Avatar Studio (interface, section 6).
//
// A [Receiver] is an http.Handler for the URL that was registered with an avatar or a
// lip-sync. One URL serves all three events. Notifications are signed after Standard
// Webhooks; [Sign] and [Verify] are the two halves of that.
package webhook

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

const maxBody = 1 << 20

// settleTimeout bounds what follows a callback, when the request may be gone.
const settleTimeout = 5 * time.Second

// Errors of [Receiver.Handle], with the status that [Receiver.ServeHTTP] answers for them.
var (
	ErrTooLarge  = errors.New("webhook: the body is larger than 1 MiB")    // 413
	ErrRefused   = errors.New("webhook: the notification is not verified") // 401
	ErrMalformed = errors.New("webhook: the body is not an event")         // 400
	ErrCallback  = errors.New("webhook: the callback failed")              // 500
	ErrClaims    = errors.New("webhook: the claims failed")                // 500
	ErrInWork    = errors.New("webhook: the same notification is in work") // 503
)

// Receiver takes the notifications that are sent to one URL. It is safe for concurrent use.
//
// A notification whose webhook-id was handled before is acknowledged and dropped. So is one
// whose webhook-sequence is not above that of the last event handled for the same avatar, video
// or lip-sync, after [Handlers.Stale] was told. Of 10,000 subjects the Receiver remembers that
// event, in memory: what other processes handle it does not know, and two events of one
// subject that come at the same time are both handled. A notification without an id is always
// handled, and one without a sequence is never stale.
//
// Bodies are checked as far as the generated types go: a member of another type, or no id of
// the subject, is [ErrMalformed]; unknown members are ignored, and of one that is given twice the
// last counts.
type Receiver struct {
	// Claims remembers the notifications that were handled; set it before the first use to share
	// it with other processes. [NewReceiver] sets it to [NewMemoryClaims] of 10,000 ids. With nil
	// every delivery is handled.
	//
	// When it cannot be asked, the service is told to deliver again. When it cannot commit, the
	// notification is acknowledged, because it was handled; it would be handled again only if
	// it came again.
	Claims Claims

	handlers  Handlers
	verifier  Verifier
	sequences sequences

	mu        sync.RWMutex
	observers []func(eventType, id, status string)
}

// NewReceiver returns a Receiver that calls handlers for what verifier accepts.
func NewReceiver(handlers Handlers, verifier Verifier) (*Receiver, error) {
	switch {
	case handlers.Unhandled == nil:
		return nil, errors.New("webhook: Handlers.Unhandled is required")
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

// Observe makes the Receiver call observer with every event of the three documented types,
// after its callback succeeded: its type, the id of the avatar, video or lip-sync, and the
// status. Duplicates and stale events are left out. The observer stays for the life of the
// Receiver, may be called concurrently, and must not block. Observe may be called at any time.
func (r *Receiver) Observe(observer func(eventType, id, status string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observers = append(slices.Clip(r.observers), observer)
}

// ServeHTTP answers 204 to a notification that was handled or dropped, 405 to what is no POST, 408
// when the body does not come within the ReadTimeout of the server, and otherwise as the errors
// of [Receiver.Handle] say. Every answer is empty. How slowly a body may come is for the server to
// say. A panic of a callback is answered 500 and passed on, for the server to report it.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	defer func() {
		if reason := recover(); reason != nil {
			if reason != http.ErrAbortHandler { //nolint:errorlint // a panic is that very value or no error at all
				if request.ProtoMajor == 1 {
					w.Header().Set("Connection", "close") // net/http closes it, and the sender must not use it again
				}
				answerAndFlush(w, http.StatusInternalServerError)
			}
			panic(reason)
		}
	}()
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBody))
	if err == nil {
		err = r.handle(request.Context(), Notification{URL: request.URL, Header: request.Header, Body: body})
	}
	code := status(err)
	switch {
	case code == http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case code == http.StatusUnauthorized && errors.Is(err, errBasicAuth):
		w.Header().Set("WWW-Authenticate", `Basic realm="webhook", charset="UTF-8"`)
	}
	w.WriteHeader(code)
}

// Handle does without net/http what [Receiver.ServeHTTP] does: it verifies body as it was
// received, decodes it and calls the callback. The names in header must be in the form that
// [http.Header.Set] gives them. The error is [ErrTooLarge], [ErrRefused], [ErrMalformed],
// [ErrCallback], [ErrClaims] or [ErrInWork], wrapping what the verifier, the callback or the
// claims returned.
func (r *Receiver) Handle(ctx context.Context, header http.Header, body []byte) error {
	return r.handle(ctx, Notification{Header: header, Body: body})
}

// handle claims only what is verified and well-formed, so that nobody can use up ids.
func (r *Receiver) handle(ctx context.Context, n Notification) error {
	if len(n.Body) > maxBody {
		return ErrTooLarge
	}
	if err := r.verifier.Verify(n); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	e, err := r.handlers.decode(n.Body)
	if err != nil {
		return err
	}
	delivery := newDelivery(n.Header)
	if r.Claims == nil || delivery.ID == "" {
		return r.call(ctx, e, delivery)
	}
	switch result, err := r.Claims.Claim(ctx, delivery.ID); {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrClaims, err)
	case result == Done:
		return nil
	case result == InWork:
		return ErrInWork
	case result != Claimed:
		return fmt.Errorf("%w: Claim returned %d", ErrClaims, result)
	}
	handled := false
	defer func() { r.settle(ctx, delivery.ID, handled) }()
	err = r.call(ctx, e, delivery)
	handled = err == nil
	return err
}

func (r *Receiver) call(ctx context.Context, e event, delivery Delivery) error {
	ordered := e.subject != "" && delivery.ID != "" && delivery.Sequence != 0
	subject, at := e.key(), position{delivery.Sequence, sha256.Sum256([]byte(delivery.ID))}
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
	if e.subject != "" {
		r.mu.RLock()
		observers := r.observers
		r.mu.RUnlock()
		for _, observe := range observers {
			observe(string(e.EventType), e.subject, e.status)
		}
	}
	return nil
}

// settle drops the errors: a claim that cannot be released lapses, and see [Receiver.Claims].
func (r *Receiver) settle(ctx context.Context, id string, handled bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if handled {
		_ = r.Claims.Commit(ctx, id)
	} else {
		_ = r.Claims.Release(ctx, id)
	}
}

// status has ErrCallback and ErrClaims first, because what they wrap may be any error.
func status(err error) int {
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case err == nil:
		return http.StatusNoContent
	case errors.Is(err, ErrCallback) || errors.Is(err, ErrClaims):
		return http.StatusInternalServerError
	case errors.Is(err, ErrRefused):
		return http.StatusUnauthorized
	case errors.Is(err, ErrInWork):
		return http.StatusServiceUnavailable
	case errors.Is(err, ErrTooLarge) || tooLarge:
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded): // of the server, while the body came
		return http.StatusRequestTimeout
	}
	return http.StatusBadRequest
}

// answerAndFlush sends the whole answer now, because after a panic net/http sends nothing.
func answerAndFlush(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(status)
	_ = http.NewResponseController(w).Flush()
}
