package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

const (
	renewEarly      = 30 * time.Second
	rejectionMemory = time.Minute
)

// TokenSource gives access tokens. It must be safe for concurrent use.
type TokenSource interface {
	// Token returns a token for a call. refused is the token that the service has just refused
	// with 401, and empty otherwise; if Token returns another one, the call is sent once more. An
	// empty token is not sent. An error ends the call and is returned as it is.
	Token(ctx context.Context, refused Secret) (Secret, error)
}

// fixedToken is a source that cannot renew its token.
type fixedToken struct{ token Secret }

func (t *fixedToken) Token(context.Context, Secret) (Secret, error) { return t.token, nil }

// tokens keeps the token pair of one user. One renewal is in flight at a time, for any number
// of callers.
type tokens struct {
	api      *gen.Client
	logger   *slog.Logger
	email    string
	password Secret

	mu      sync.Mutex
	access  Secret
	expires time.Time // zero when the token does not say
	renewAt time.Time // zero when only a 401 can tell
	current *renewal

	// These belong to the renewal in flight.
	refresh       Secret
	noRefresh     bool
	rejection     error
	rejectedUntil time.Time
}

type renewal struct {
	done   chan struct{}
	access Secret
	err    error
}

// Token returns an access token, after a renewal if there is none, if it is about to expire or if
// it is refused. A refused token that another one has replaced changes nothing. The renewal does
// not end with ctx, because others may wait for it too; the limits of its own requests end it.
func (t *tokens) Token(ctx context.Context, refused Secret) (Secret, error) {
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
	if t.current == nil {
		t.current = &renewal{done: make(chan struct{})}
		go t.renew(context.WithoutCancel(ctx), t.current)
	}
	waiting := t.current
	t.mu.Unlock()

	select {
	case <-waiting.done:
		return waiting.access, waiting.err
	case <-ctx.Done():
		return "", fmt.Errorf("client: waiting for a token: %w", ctx.Err())
	}
}

func (t *tokens) renew(ctx context.Context, r *renewal) {
	defer close(r.done)
	pair, err := t.exchange(ctx)
	expires := t.finish(r, pair, err)
	switch {
	case err == nil:
		t.logger.DebugContext(ctx, "new token", "expires", expires)
	case r.err == nil:
		t.logger.WarnContext(ctx, "no new token, the old one serves on", "expires", expires, "err", err)
	}
}

// finish ends the renewal in flight, and returns when the token that serves now expires.
func (t *tokens) finish(r *renewal, pair *gen.TokenPair, err error) (expires time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil:
		t.access, t.refresh = Secret(pair.AccessToken), Secret(pair.RefreshToken)
		t.expires, t.renewAt = time.Time{}, time.Time{}
		// A new token that has expired already means that the clocks disagree.
		if expires := expiry(pair.AccessToken); expires.After(now) {
			t.expires = expires
			t.renewAt = expires.Add(-min(renewEarly, expires.Sub(now)/2))
		}
	case t.access != "" && now.Before(t.expires):
		// It was early: the old token serves until it expires.
		t.renewAt, err = t.expires, nil
	}
	r.access, r.err = t.access, err
	t.current = nil
	return t.expires
}

// exchange gets a new pair with the refresh token or, failing that, with the password.
func (t *tokens) exchange(ctx context.Context) (pair *gen.TokenPair, err error) {
	if time.Now().Before(t.rejectedUntil) {
		return nil, t.rejection
	}
	defer func() { t.remember(err) }()
	if refresh := t.refresh; refresh != "" && !t.noRefresh {
		t.refresh = "" // it works once, and the answer may get lost
		pair, err := tokenPair(t.api.RefreshTokens(ctx, gen.RefreshRequest{RefreshToken: string(refresh)}))
		answer, answered := errors.AsType[*Error](err)
		if !answered {
			return pair, err
		}
		switch status := answer.StatusCode; {
		case status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented:
			t.noRefresh = true
		case status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
			return nil, err
		}
	}
	return tokenPair(t.api.Login(ctx, gen.LoginRequest{Email: t.email, Password: string(t.password)}))
}

// remember keeps what forbids to ask again for a while: trying a wrong password over and over could
// lock the account, and so could going on when the service says to wait.
func (t *tokens) remember(err error) {
	answer, answered := errors.AsType[*Error](err)
	switch {
	case errors.Is(err, ErrUnauthorized):
		t.rejection, t.rejectedUntil = err, time.Now().Add(rejectionMemory)
	case answered && errors.Is(err, ErrRateLimited):
		t.rejection, t.rejectedUntil = err, time.Now().Add(min(answer.RetryAfter, rejectionMemory))
	}
}

func tokenPair(response *http.Response, err error) (*gen.TokenPair, error) {
	pair, err := decode[gen.TokenPair](response, err)
	if err == nil && pair.AccessToken == "" {
		return nil, notPromised(response)
	}
	return pair, err
}

// expiry reads when a JWT expires, without verifying it. It is zero for any other token.
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
