package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

const (
	renewEarly      = 30 * time.Second
	rejectionMemory = time.Minute
)

// TokenSource provides access tokens. Implementations must be safe for concurrent use.
type TokenSource interface {
	// Token returns an access token for a call. If the service has just rejected a token with 401, refused
	// is that token; otherwise refused is empty. The call is retried if Token returns another token. An
	// empty token is not sent.
	//
	// An error ends the call and is returned unchanged. [Client.WaitAvatar], [Client.WaitVideo] and
	// [Client.WaitLipsync] call Token again if the error is temporary: a net.Error, or a transient [*Error]
	// such as an [ErrServer].
	Token(ctx context.Context, refused Credential) (Credential, error)
}

// tokenFunc returns an access token other than refused. The argument retry limits the logins that a call waits for.
// It is a function because package fmt would print the secrets of a struct.
type tokenFunc func(ctx context.Context, refused Credential, retry Retry) (Credential, error)

// tokens logs in with email and password. Any number of callers share one renewal at a time.
type tokens struct {
	client   *Client
	email    string
	password Credential

	mu      sync.Mutex
	access  Credential
	expires time.Time // zero if the token has no expiry
	renewAt time.Time // zero if the token is renewed only after a 401
	current *renewal

	failure *failure // of the last renewal

	refresh Credential // the renewal in flight owns it
}

// renewal is one attempt to get new tokens. All callers that need a token wait for it.
type renewal struct {
	retry    Retry    // of the caller that started the renewal
	attempts int      // largest number of renewals that any of its callers has waited for
	cause    *failure // failure of the renewal that this one retries, or nil
	done     chan struct{}
	access   Credential
	failure  *failure
}

// failure is the error of a renewal with the time before which no other renewal may start.
type failure struct {
	err       error
	notBefore time.Time
}

// token returns an access token. It waits for a renewal if there is no token, or if the token is refused
// or about to expire. It ignores refused if the token was replaced already.
//
// If a renewal fails with a transient error, callers with attempts left wait for the next one. All of them
// wait until the same time, so the service sees one login at a time. A renewal does not end with ctx,
// because other callers may wait for it.
func (t *tokens) token(ctx context.Context, refused Credential, retry Retry) (Credential, error) {
	var last *failure
	for failed := 0; ; {
		if err := ctx.Err(); err != nil {
			return "", fmt.Errorf("client: waiting for a token: %w", err)
		}
		t.mu.Lock()
		if refused != "" && t.access == refused {
			t.access = ""
		}
		if t.access != "" && (t.renewAt.IsZero() || time.Now().Before(t.renewAt)) {
			defer t.mu.Unlock()
			return t.access, nil
		}
		newest := t.failure
		if t.current == nil && newest != nil && time.Now().Before(newest.notBefore) {
			t.mu.Unlock()
		} else {
			awaited := t.join(ctx, failed+1, retry)
			t.mu.Unlock()
			select {
			case <-awaited.done:
			case <-ctx.Done():
				return "", fmt.Errorf("client: waiting for a token: %w", ctx.Err())
			}
			if newest = awaited.failure; newest == nil {
				return awaited.access, nil
			}
		}
		if newest != last {
			last, failed = newest, failed+1
		}
		wait := time.Until(last.notBefore)
		if failed >= retry.Attempts || !retryable(last.err, true) || !retry.allows(ctx, wait, last.err) {
			return "", last.err
		}
		if err := pause(ctx, wait, last.err); err != nil {
			return "", err
		}
	}
}

// join returns the renewal in flight, and starts one if necessary. It is the nth renewal that the caller
// waits for. t.mu must be held.
func (t *tokens) join(ctx context.Context, nth int, retry Retry) *renewal {
	if t.current == nil {
		t.current = &renewal{retry: retry, done: make(chan struct{})}
		if nth > 1 {
			t.current.cause = t.failure
		}
		go t.renew(context.WithoutCancel(ctx), t.current)
	}
	t.current.attempts = max(t.current.attempts, nth)
	return t.current
}

func (t *tokens) renew(ctx context.Context, r *renewal) {
	defer close(r.done)
	if r.cause != nil {
		t.client.config.Logger.WarnContext(ctx, "retrying the login", "err", r.cause.err)
	}
	pair, err := t.fetch(ctx)
	expires := t.finish(r, pair, err)
	switch {
	case err == nil:
		t.client.config.Logger.DebugContext(ctx, "new token", "expires", expires)
	case r.failure == nil:
		t.client.config.Logger.WarnContext(ctx, "token renewal failed, the old token is still valid", "expires", expires, "err", err)
	}
}

// finish ends the renewal in flight and returns the expiry of the current token.
func (t *tokens) finish(r *renewal, pair *gen.TokenPair, err error) (expires time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.current, t.failure = nil, nil
	if err != nil {
		t.failure = &failure{err, now.Add(r.pause(err))}
	}
	switch {
	case err == nil:
		t.access, t.refresh = Credential(pair.AccessToken), Credential(pair.RefreshToken)
		t.expires, t.renewAt = time.Time{}, time.Time{}
		// If a new token is already expired, the clocks differ.
		if expires := expiry(pair.AccessToken); expires.After(now) {
			t.expires = expires
			t.renewAt = expires.Add(-min(renewEarly, expires.Sub(now)/2))
		}
	case t.access != "" && now.Before(t.expires):
		t.renewAt = t.expires // the renewal was early, so the old token is still valid
	default:
		r.failure = t.failure
	}
	r.access = t.access
	return t.expires
}

// pause returns how long after r no other renewal may start. Repeating a wrong password, or ignoring
// Retry-After, could lock the account.
func (r *renewal) pause(err error) time.Duration {
	if errorResponse, responded := errors.AsType[*Error](err); responded {
		errorResponse.Attempts = r.attempts
	}
	switch {
	case errors.Is(err, ErrUnauthorized):
		return rejectionMemory
	case !retryable(err, true):
		return 0
	}
	return min(r.retry.delay(r.attempts, err), rejectionMemory)
}

// fetch gets new tokens with the refresh token or, if that fails, with the password.
func (t *tokens) fetch(ctx context.Context) (*gen.TokenPair, error) {
	if token := t.refresh; token != "" {
		t.refresh = "" // it works once, and the response may get lost
		a, err := t.send(ctx, &operations.RefreshTokens, gen.RefreshRequest{RefreshToken: string(token)})
		if err != nil && retryable(err, a.unsent) {
			t.refresh = token
		}
		pair, err := tokenPair(a, err)
		if err == nil || retryable(err, true) {
			return pair, err
		}
	}
	return tokenPair(t.send(ctx, &operations.Login, gen.LoginRequest{Email: t.email, Password: string(t.password)}))
}

// send sends one request for tokens.
func (t *tokens) send(ctx context.Context, o *operation, body any) (*attempt, error) {
	c := t.client.call(o, nil)
	c.retry.Attempts = 1
	c.JSON("application/json", body)
	return c.send(ctx)
}

func tokenPair(a *attempt, err error) (*gen.TokenPair, error) {
	pair, err := decode[gen.TokenPair](a, err)
	if err == nil && pair.AccessToken == "" {
		return nil, notDocumented(a)
	}
	return pair, err
}

// expiry returns the expiry of a JWT without verifying it, or zero if the token is not a JWT.
func expiry(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Expires float64 `json:"exp"`
	}
	const year3000 = 32503680000
	if json.Unmarshal(payload, &claims) != nil || claims.Expires <= 0 || claims.Expires > year3000 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Expires), 0)
}
