package client

import (
	"cmp"
	"context"
	"crypto/tls"
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

// Retry configures how often a request is sent and how long the client waits between attempts. The zero
// value uses the defaults.
type Retry struct {
	// Attempts is the maximum number of attempts, including the first one and one with a renewed token.
	// The attempts of a login are counted separately. 1 disables retries, even if a kept-alive connection
	// turns out to be closed: a call that gets 401 then fails, but renews the token for the next call. Defaults
	// to 4.
	Attempts int

	// BaseDelay is the upper bound of the first delay. The bound doubles with each attempt, and the delay
	// is random between zero and the bound. Defaults to 250 milliseconds.
	BaseDelay time.Duration

	// MaxDelay limits all delays. If the service asks for a longer delay with Retry-After, the call fails
	// at once. Defaults to 10 seconds.
	MaxDelay time.Duration
}

func (r Retry) validate() error {
	return cmp.Or(
		notNegative("Retry.Attempts", r.Attempts),
		notNegative("Retry.BaseDelay", r.BaseDelay),
		notNegative("Retry.MaxDelay", r.MaxDelay),
	)
}

func (r Retry) withDefaults() Retry {
	return Retry{
		Attempts:  cmp.Or(r.Attempts, defaultAttempts),
		BaseDelay: cmp.Or(r.BaseDelay, defaultBaseDelay),
		MaxDelay:  cmp.Or(r.MaxDelay, defaultMaxDelay),
	}
}

// delay returns the delay before the next attempt, after attempt number attempt failed with err. It is not less than
// the Retry-After in err.
func (r Retry) delay(attempt int, err error) time.Duration {
	bound := r.MaxDelay
	if doubled := r.BaseDelay << (attempt - 1); doubled>>(attempt-1) == r.BaseDelay {
		bound = min(bound, doubled)
	}
	return max(rand.N(bound), retryAfterOf(err))
}

// allows reports whether delay does not exceed MaxDelay, and whether ctx ends later.
func (r Retry) allows(ctx context.Context, delay time.Duration) bool {
	deadline, bounded := ctx.Deadline()
	return delay <= r.MaxDelay && (!bounded || time.Until(deadline) > delay)
}

func retryAfterOf(err error) time.Duration {
	if errorResponse, ok := errors.AsType[*Error](err); ok {
		return errorResponse.RetryAfter
	}
	return 0
}

// retryable reports whether a request that failed with err may be sent again. repeatable reports whether that has no
// further effect if the service has processed the request.
func retryable(err error, repeatable bool) bool {
	errorResponse, responded := errors.AsType[*Error](err)
	if !responded {
		_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
		return repeatable && !untrusted
	}
	switch errorResponse.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return repeatable || errorResponse.hasRetryAfter
	case http.StatusNotImplemented:
		return false
	}
	return repeatable && (errorResponse.StatusCode == http.StatusRequestTimeout || errors.Is(err, ErrServer))
}

// uncertain reports whether the service may have processed the attempt, which failed.
func (a *attempt) uncertain() bool {
	errorResponse, responded := errors.AsType[*Error](a.err)
	if !responded {
		return !a.unsent
	}
	switch errorResponse.StatusCode {
	case http.StatusRequestTimeout:
		return true
	case http.StatusNotImplemented:
		return false
	case http.StatusServiceUnavailable:
		return !errorResponse.hasRetryAfter
	}
	return errors.Is(a.err, ErrDecode) || errors.Is(a.err, ErrServer)
}

// pause waits for delay. If ctx ends first, it returns the error of ctx joined with cause.
func pause(ctx context.Context, delay time.Duration, cause error) error {
	select {
	case <-time.After(delay):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("client: waiting to send again: %w: %w", ctx.Err(), cause)
	}
}
