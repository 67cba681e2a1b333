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
	rejectionMemory = time.Minute
)

// TokenSource gives access tokens. It must be safe for concurrent use.
type TokenSource interface {
	// Token returns a token for a call. refused is the token that the service has just refused
	// with 401, and empty otherwise; if Token returns another one, the call is sent once more. An
	// empty token is not sent. An error ends the call and is returned as it is. [Client.WaitAvatar]
	// and its like ask again after a temporary one: a net.Error, an [*Error] that may pass, such as
	// [ErrServer], or an error whose method Temporary() bool says so.
	Token(ctx context.Context, refused Credential) (Credential, error)
}

// source is where the doer gets its tokens. retry bounds the logins that a call waits for.
type source interface {
	token(ctx context.Context, refused Credential, retry Retry) (Credential, error)
}

// fixedToken is a source that cannot renew its token.
type fixedToken struct{ access Credential }

func (t *fixedToken) token(context.Context, Credential, Retry) (Credential, error) {
	return t.access, nil
}

// foreignSource is a [TokenSource], which retries as it sees fit.
type foreignSource struct{ TokenSource }

func (s *foreignSource) token(ctx context.Context, refused Credential, _ Retry) (Credential, error) {
	return s.Token(ctx, refused)
}

// tokens keeps the token pair of one user. One renewal is in flight at a time, for any number
// of callers.
type tokens struct {
	api      gen.Client
	doer     *doer
	email    string
	password Credential

	mu      sync.Mutex
	access  Credential
	expires time.Time // zero when the token does not say
	renewAt time.Time // zero when only a 401 can tell
	current *renewal

	failure *failure // of the last renewal

	// These belong to the renewal in flight.
	refresh   Credential
	noRefresh bool
}

// renewal is one attempt to get a new pair, shared by all callers that wait for it.
type renewal struct {
	retry    Retry    // of the caller that started it
	attempts int      // the most that any of the callers has waited for, this one included
	cause    *failure // of the attempt that this one repeats, if it repeats one
	done     chan struct{}
	access   Credential
	failure  *failure
}

// failure is why a renewal failed, and when the next one may start.
type failure struct {
	err       error
	notBefore time.Time
}

// token returns an access token, after a renewal if there is none, if it is about to expire or if
// it is refused. A refused token that another one has replaced changes nothing.
//
// A caller that has attempts left waits for the next renewal when one fails for a reason that may
// pass. All wait for the same moment, so that the service sees one login at a time, however many
// callers there are. A renewal does not end with ctx, because others may wait for it too.
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
		if failed >= retry.Attempts || !passes(last.err) || !retry.allows(ctx, wait, last.err) {
			return "", last.err
		}
		if err := pause(ctx, wait, last.err); err != nil {
			return "", err
		}
	}
}

// join returns the renewal in flight for a caller whose nth it is, and starts one if there is none.
// t.mu is held.
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
		t.doer.logger.WarnContext(ctx, "logging in again", "err", r.cause.err)
	}
	pair, err := t.exchange(ctx)
	expires := t.finish(r, pair, err)
	switch {
	case err == nil:
		t.doer.logger.DebugContext(ctx, "new token", "expires", expires)
	case r.failure == nil:
		t.doer.logger.WarnContext(ctx, "no new token, the old one serves on", "expires", expires, "err", err)
	}
}

// finish ends the renewal in flight, and returns when the token that serves now expires.
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
		// A new token that has expired already means that the clocks disagree.
		if expires := expiry(pair.AccessToken); expires.After(now) {
			t.expires = expires
			t.renewAt = expires.Add(-min(renewEarly, expires.Sub(now)/2))
		}
	case t.access != "" && now.Before(t.expires):
		t.renewAt = t.expires // it was early: the old token serves until it expires
	default:
		r.failure = t.failure
	}
	r.access = t.access
	return t.expires
}

// pause returns for how long no other renewal starts after r, which ended with err. Trying a wrong
// password over and over could lock the account, and so could going on when the service says to wait.
func (r *renewal) pause(err error) time.Duration {
	if answer, answered := errors.AsType[*Error](err); answered {
		answer.Attempts = r.attempts
	}
	switch {
	case errors.Is(err, ErrUnauthorized):
		return rejectionMemory
	case !passes(err):
		return 0
	}
	return min(r.retry.delay(r.attempts, err), rejectionMemory)
}

// passes reports whether what failed a renewal may pass. A login changes nothing, so that it may be
// sent again even if the service has carried it out.
func passes(err error) bool { return login.repeats(&attempt{err: err}, false) }

// exchange gets a new pair with the refresh token or, failing that, with the password.
func (t *tokens) exchange(ctx context.Context) (*gen.TokenPair, error) {
	once, sent := t.doer.limits, Response{}
	once.retry.Attempts = 1
	api := gen.Client{Server: t.api.Server, Client: &call{doer: t.doer, limits: once, into: &sent}}
	if token := t.refresh; token != "" && !t.noRefresh {
		t.refresh = "" // it works once, and the answer may get lost
		pair, err := tokenPair(api.RefreshTokens(ctx, gen.RefreshRequest{RefreshToken: string(token)}))
		if refresh.repeats(&attempt{err: err, unsent: sent.unsent}, false) {
			t.refresh = token
		}
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
	return tokenPair(api.Login(ctx, gen.LoginRequest{Email: t.email, Password: string(t.password)}))
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
