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
	renewEarly    = 30 * time.Second
	failureMemory = time.Minute
)

// TokenSource provides access tokens. Implementations must be safe for concurrent use.
type TokenSource interface {
	// Token returns an access token for a call. If the service has just rejected a token with 401, refused
	// is that token; otherwise refused is empty. The call is retried, if it has an attempt left, if Token returns
	// another token. An empty token is not sent.
	//
	// An error ends the call and is returned unchanged. [Client.WaitAvatar], [Client.WaitVideo] and
	// [Client.WaitLipsync] call Token again if the error is temporary: a net.Error, or a transient [*Error]
	// such as an [ErrServer].
	Token(ctx context.Context, refused Credential) (Credential, error)
}

// tokenFunc returns an access token other than refused. It is a function because package fmt would print the secrets of
// a struct.
type tokenFunc func(ctx context.Context, refused Credential) (Credential, error)

// tokens logs in with email and password. Any number of callers share one renewal at a time.
type tokens struct {
	client   *Client
	email    string
	password Credential

	mu      sync.Mutex
	access  Credential
	expires time.Time // zero if the token has no expiry
	renewAt time.Time // zero if the token is renewed only after a 401
	newest  *renewal

	refresh Credential // the renewal in flight owns it
}

// renewal gets new tokens. All callers that need a token wait for it.
type renewal struct {
	done      chan struct{}
	ended     bool
	access    Credential
	err       error
	notBefore time.Time // when another renewal may start
}

// token returns an access token. It waits for a renewal if there is no token, or if the token is refused
// or about to expire. It ignores refused if the token was replaced already. A renewal does not end with ctx,
// because other callers may wait for it.
func (t *tokens) token(ctx context.Context, refused Credential) (Credential, error) {
	access, awaited := t.current(ctx, refused)
	if awaited == nil {
		return access, nil
	}
	select {
	case <-awaited.done:
		return awaited.access, awaited.err
	case <-ctx.Done():
		return "", fmt.Errorf("client: waiting for a token: %w", ctx.Err())
	}
}

// current returns the token if it is valid, or the renewal to wait for: a new one unless one is in flight or has failed
// a short time ago.
func (t *tokens) current(ctx context.Context, refused Credential) (Credential, *renewal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if refused != "" && t.access == refused {
		t.access = ""
	}
	now := time.Now()
	switch {
	case t.access != "" && (t.renewAt.IsZero() || now.Before(t.renewAt)):
		return t.access, nil
	case t.newest == nil || t.newest.ended && !now.Before(t.newest.notBefore):
		t.newest = &renewal{done: make(chan struct{})}
		go t.renew(context.WithoutCancel(ctx), t.newest)
	}
	return "", t.newest
}

func (t *tokens) renew(ctx context.Context, r *renewal) {
	defer close(r.done)
	pair, err := t.fetch(ctx)
	expires := t.finish(r, pair, err)
	switch {
	case err == nil:
		t.client.config.Logger.DebugContext(ctx, "new token", "expires", expires)
	case r.err == nil:
		t.client.config.Logger.WarnContext(ctx, "token renewal failed, the old token is still valid", "expires", expires, "err", err)
	}
}

// finish ends the renewal in flight and returns the expiry of the current token.
func (t *tokens) finish(r *renewal, pair *gen.TokenPair, err error) (expires time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	r.ended = true
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
		// Repeating a wrong password, or ignoring Retry-After, could lock the account.
		r.err, r.notBefore = err, now.Add(min(retryAfterOf(err), failureMemory))
		if errors.Is(err, ErrUnauthorized) {
			r.notBefore = now.Add(failureMemory)
		}
	}
	r.access = t.access
	return t.expires
}

// fetch gets new tokens with the refresh token or, if that fails, with the password.
func (t *tokens) fetch(ctx context.Context) (*gen.TokenPair, error) {
	if token := t.refresh; token != "" {
		t.refresh = "" // it works once, and the response may get lost
		pair, err := t.send(ctx, &operations.RefreshTokens, gen.RefreshRequest{RefreshToken: string(token)})
		if err == nil {
			return pair, nil
		}
	}
	return t.send(ctx, &operations.Login, gen.LoginRequest{Email: t.email, Password: string(t.password)})
}

// send calls an operation that returns tokens.
func (t *tokens) send(ctx context.Context, o *operation, body any) (*gen.TokenPair, error) {
	c := t.client.call(o, nil)
	c.JSON("application/json", body)
	a, err := c.send(ctx)
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
