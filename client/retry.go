package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

const (
	defaultAttempts  = 4
	defaultBaseDelay = 250 * time.Millisecond
	defaultMaxDelay  = 10 * time.Second
)

// Retry says how often a request is sent and how long the client waits in between. The zero value
// is the default.
type Retry struct {
	// Attempts is how many times a request is sent at most, the first time and the one with a
	// renewed token included. A login that the call waits for is counted by itself. 1 means never
	// again, not even when a kept connection turns out to be dead. Defaults to 4.
	Attempts int

	// BaseDelay bounds the first wait; the bound doubles with each attempt. The wait is random
	// between zero and the bound. Defaults to 250 milliseconds.
	BaseDelay time.Duration

	// MaxDelay bounds every wait. A Retry-After of the service is honoured up to it; if the
	// service asks for more, the call fails at once. Defaults to 10 seconds.
	MaxDelay time.Duration
}

func (r Retry) validate() error {
	switch {
	case r.Attempts < 0:
		return errors.New("client: Retry.Attempts: must not be negative")
	case r.BaseDelay < 0:
		return errors.New("client: Retry.BaseDelay: must not be negative")
	case r.MaxDelay < 0:
		return errors.New("client: Retry.MaxDelay: must not be negative")
	}
	return nil
}

func (r Retry) withDefaults() Retry {
	return Retry{
		Attempts:  cmp.Or(r.Attempts, defaultAttempts),
		BaseDelay: cmp.Or(r.BaseDelay, defaultBaseDelay),
		MaxDelay:  cmp.Or(r.MaxDelay, defaultMaxDelay),
	}
}

// delay returns how long to wait before the attempt after attempt, which failed with err.
func (r Retry) delay(attempt int, err error) time.Duration {
	bound := r.MaxDelay
	if doubled := r.BaseDelay << (attempt - 1); doubled>>(attempt-1) == r.BaseDelay {
		bound = min(bound, doubled)
	}
	return max(rand.N(bound), retryAfterOf(err))
}

// allows reports whether delay, and what the service asked for with err, is no longer than
// MaxDelay, and whether ctx lasts longer.
func (r Retry) allows(ctx context.Context, delay time.Duration, err error) bool {
	deadline, bounded := ctx.Deadline()
	return max(delay, retryAfterOf(err)) <= r.MaxDelay && (!bounded || time.Until(deadline) > delay)
}

func retryAfterOf(err error) time.Duration {
	if answer, ok := errors.AsType[*Error](err); ok {
		return answer.RetryAfter
	}
	return 0
}

// class is how far an operation may be repeated.
type class int

const (
	creating class = iota // may be carried out once only
	reading               // may be carried out any number of times
	login                 // changes nothing, but too many could lock an account
	refresh               // a refresh token works once
)

// repeats reports whether a request may be sent again after attempt a, which failed. keyed means
// that the service recognises the request by its idempotency key.
func (c class) repeats(a *attempt, keyed bool) bool {
	harmless := c == reading || c == login || keyed
	answer, answered := errors.AsType[*Error](a.err)
	if !answered {
		return harmless || a.unsent
	}
	switch answer.StatusCode {
	case http.StatusTooManyRequests:
		return answer.asked || harmless && c != login
	case http.StatusServiceUnavailable:
		return harmless || answer.asked
	case http.StatusNotImplemented:
		return false
	case http.StatusRequestTimeout:
		return harmless
	}
	return harmless && errors.Is(answer, ErrServer)
}

// uncertain reports whether the service may have carried out what failed in attempt a. named means
// that the caller knows the idempotency key, and so can make the call again after 408 and 5xx.
func (c class) uncertain(a *attempt, named bool) bool {
	answer, answered := errors.AsType[*Error](a.err)
	switch {
	case c != creating:
		return false
	case !answered:
		return !a.unsent
	}
	switch answer.StatusCode {
	case http.StatusNotImplemented:
		return false
	case http.StatusServiceUnavailable:
		return !named && !answer.asked
	case http.StatusRequestTimeout:
		return !named
	}
	return errors.Is(answer, ErrDecode) || !named && errors.Is(answer, ErrServer)
}

// pause waits for delay. If ctx ends first, the error is what ctx says and cause.
func pause(ctx context.Context, delay time.Duration, cause error) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("client: waiting to send again: %w: %w", ctx.Err(), cause)
	}
}
