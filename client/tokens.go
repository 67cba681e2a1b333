package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

const (
	renewEarly      = 30 * time.Second
	renewTimeout    = 30 * time.Second
	rejectionMemory = time.Minute
)

// tokens keeps the token pair of one user. One renewal is in flight at a time, for any number
// of callers.
type tokens struct {
	api      *gen.Client
	email    string
	password Secret

	mu      sync.Mutex
	access  string
	expires time.Time // zero when the token does not say
	renewAt time.Time // zero when only a 401 can tell
	current *renewal

	// These belong to the renewal in flight.
	refresh       string
	noRefresh     bool
	rejection     error
	rejectedUntil time.Time
}

type renewal struct {
	done   chan struct{}
	access string
	err    error
}

// get returns an access token, after a renewal if there is none or it is about to expire. The
// renewal does not end with ctx, because others may wait for it too.
func (t *tokens) get(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("client: waiting for a token: %w", err)
	}
	t.mu.Lock()
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

// discard forgets a refused token. It does nothing if another one has taken its place.
func (t *tokens) discard(refused string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.access == refused {
		t.access = ""
	}
}

func (t *tokens) renew(ctx context.Context, r *renewal) {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	pair, err := t.exchange(ctx)

	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil:
		t.access, t.refresh = pair.AccessToken, pair.RefreshToken
		t.expires, t.renewAt = time.Time{}, time.Time{}
		// A new token that has expired already means that the clocks disagree.
		if expires := expiry(t.access); expires.After(now) {
			t.expires = expires
			t.renewAt = expires.Add(-min(renewEarly, expires.Sub(now)/2))
		}
	case t.access != "" && now.Before(t.expires):
		// It was early: the old token serves until it expires.
		t.renewAt = t.expires
		err = nil
	}
	r.access, r.err = t.access, err
	t.current = nil
	close(r.done)
}

// exchange gets a new pair with the refresh token or, failing that, with the password.
func (t *tokens) exchange(ctx context.Context) (*gen.TokenPair, error) {
	if refresh := t.refresh; refresh != "" && !t.noRefresh {
		t.refresh = "" // it works once, and the answer may get lost
		pair, err := tokenPair(t.api.RefreshTokens(ctx, gen.RefreshRequest{RefreshToken: refresh}))
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
	if time.Now().Before(t.rejectedUntil) {
		return nil, t.rejection
	}
	pair, err := tokenPair(t.api.Login(ctx, gen.LoginRequest{Email: t.email, Password: string(t.password)}))
	if errors.Is(err, ErrUnauthorized) {
		// Trying a wrong password over and over could lock the account.
		t.rejection, t.rejectedUntil = err, time.Now().Add(rejectionMemory)
	}
	return pair, err
}

func tokenPair(response *http.Response, err error) (*gen.TokenPair, error) {
	pair, err := decode[gen.TokenPair](response, err)
	if err == nil && pair.AccessToken == "" {
		return nil, newError(response, noteNotPromised)
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
