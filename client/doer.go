package client

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
)

// doer sends the requests of all calls. It handles tokens, retries, limits and errors for all
// operations.
type doer struct {
	http             http.Client
	base             string // the URL before the path of an operation
	logger           *slog.Logger
	userAgent        []string
	tokens           source // nil without credentials
	limits           limits
	maxResponseBytes int64

	// refused is a token that the service rejected when its call had no attempt left. The next call
	// reports it to the token source.
	refused atomic.Pointer[Credential]
}

func newDoer(config Config, base *url.URL) *doer {
	d := &doer{
		base:             strings.TrimSuffix(base.JoinPath().String(), "/"),
		logger:           config.Logger,
		userAgent:        []string{cmp.Or(config.UserAgent, defaultUserAgent)},
		limits:           limits{retry: config.Retry.withDefaults(), timeout: cmp.Or(config.Timeout, defaultTimeout)},
		maxResponseBytes: min(cmp.Or(config.MaxResponseBytes, defaultMaxResponseBytes), math.MaxInt64-1), // send reads one byte more
	}
	if d.logger == nil {
		d.logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case config.Token != "":
		d.tokens = &fixedToken{config.Token}
	case config.TokenSource != nil:
		d.tokens = &customSource{config.TokenSource}
	}
	if config.HTTPClient != nil {
		d.http = *config.HTTPClient
	}
	// A redirect to another host would also send the body there, which may contain a password.
	d.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if d.http.Transport == nil {
		d.http.Transport = http.DefaultTransport
	}
	d.http.Transport = &redirectFilter{d.http.Transport}
	return d
}

// do sends a request with an access token, and retries it as far as that is allowed. If the error is nil,
// the response is a success that the document allows. Its body is a *readBody unless it is streamed.
func (d *doer) do(request *http.Request, c *call) (*http.Response, error) {
	if workspace, sent := request.Header[headerWorkspace]; sent && workspace[0] == "" {
		return nil, errNoWorkspace
	}
	request.Header["User-Agent"], request.Header["Accept"] = d.userAgent, c.operation.accept
	e := exchange{
		doer: d, request: request, body: request.Body, limits: c.limits, class: c.operation.class(),
		keyed: request.Header.Get(headerIdempotencyKey) != "",
	}
	e.callerKey = e.keyed && !c.ownKey
	e.renewsToken = d.tokens != nil && e.class != login && e.class != refresh && request.Header.Get(headerAuthorization) == ""
	if e.renewsToken {
		if err := e.authorize(d.takeRefused()); err != nil {
			if e.body != nil {
				_ = e.body.Close()
			}
			return nil, err
		}
	}
	for {
		e.attempts++
		a := d.send(request, e.body, c.limits.timeout, c.operation)
		a.record(c.into, request, e.attempts)
		if a.err == nil {
			if c.operation.body != bodyStream {
				a.response.Body = newReadBody(a.content, e.attempts, c)
			}
			return a.response, nil
		}
		if err := e.prepareRetry(&a); err != nil {
			return nil, withOutcome(err, e.unknown)
		}
	}
}

// exchange is a request with its attempts.
type exchange struct {
	doer        *doer
	request     *http.Request
	body        io.ReadCloser // for the next attempt
	limits      limits
	class       class
	keyed       bool       // the request has an idempotency key
	callerKey   bool       // the caller chose the idempotency key
	renewsToken bool       // the token comes from doer.tokens and may be renewed
	access      Credential // token of the request
	attempts    int
	unknown     bool // the service may have processed an attempt
	inFlight    bool // the service may still be processing an attempt
}

// prepareRetry waits and prepares the next attempt after a, or returns the error of the call.
func (e *exchange) prepareRetry(a *attempt) error {
	if errorResponse, ok := errors.AsType[*Error](a.err); ok {
		errorResponse.Attempts = e.attempts
	}
	// If an earlier attempt may still be running, a conflict says only that the service is processing it.
	running := e.inFlight && e.keyed && errors.Is(a.err, ErrConflict)
	e.unknown = e.unknown || running || e.class.uncertain(a, e.callerKey)
	e.inFlight = e.inFlight || e.class.uncertain(a, false)
	hasBody := e.body != nil && e.body != http.NoBody
	last := e.attempts >= e.limits.retry.Attempts || hasBody && e.request.GetBody == nil

	ctx := e.request.Context()
	if e.renewsToken && errors.Is(a.err, ErrUnauthorized) {
		// The service did not process a request that it rejected with 401, so even a POST can be retried.
		e.renewsToken = false
		refused := e.access
		if last {
			e.doer.refused.Store(&refused)
			return a.err
		}
		e.request.Header = e.request.Header.Clone()
		if err := e.authorize(refused); err != nil {
			return err
		}
		if e.access == refused {
			return a.err
		}
	} else {
		delay := e.limits.retry.delay(e.attempts, a.err)
		inTime := ctx.Err() == nil && e.limits.retry.allows(ctx, delay, a.err)
		if last || !inTime || !running && !e.class.retries(a, e.keyed) {
			return a.err
		}
		e.doer.logger.WarnContext(ctx, "retrying", "method", e.request.Method, "path", e.request.URL.Path,
			"attempt", e.attempts, "wait", delay, "err", a.err)
		if err := pause(ctx, delay, a.err); err != nil {
			return err
		}
	}
	if !hasBody {
		return nil
	}
	var err error
	e.body, err = e.request.GetBody()
	return err
}

// authorize sets an access token other than refused.
func (e *exchange) authorize(refused Credential) error {
	access, err := e.doer.tokens.token(e.request.Context(), refused, e.limits.retry)
	if err != nil {
		return err
	}
	if !headerValue(string(access)) {
		return errors.New("client: access token: has a character that is not allowed in a header")
	}
	if access != "" {
		e.request.Header.Set(headerAuthorization, "Bearer "+string(access))
	}
	e.access = access
	return nil
}

func (d *doer) takeRefused() Credential {
	if d.refused.Load() != nil {
		if refused := d.refused.Swap(nil); refused != nil {
			return *refused
		}
	}
	return ""
}
