package client

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// call is one call of an operation with its options and its attempts.
type call struct {
	client    *Client
	operation *operation
	params    CallOption // optional parameters that the operation has not used
	header    http.Header
	retry     Retry
	timeout   time.Duration // of each attempt
	into      *Response
	err       error

	untilConsent bool
	progress     func(done, total int64)
	opened       func(resumed bool) (more bool) // called when a connection of a stream begins

	// Parts of the request.
	target      string // path of the operation, and its query
	contentType string
	content     []byte    // body in memory, or
	stream      io.Reader // body
	file        *os.File  // stream, if each attempt reads it anew; the transport then does not close it

	request     *http.Request
	body        io.ReadCloser // stream for the next attempt
	attempts    int
	renewsToken bool          // the token comes from client.token and may be renewed
	access      Credential    // token of the request
	unknown     bool          // the service may have processed an attempt, or may still be processing it
	final       bool          // the request must not be sent again
	reconnect   time.Duration // the least time before the next attempt of a stream
}

func newCall(client *Client, options []CallOption) *call {
	c := &call{client: client, header: http.Header{}, retry: client.config.Retry, timeout: client.config.Timeout}
	for _, option := range options {
		option.apply(c)
	}
	return c
}

// call prepares one call of an operation.
func (c *Client) call(o *operation, options []CallOption) *call {
	call := newCall(c, options)
	call.operation, call.target = o, o.path
	if o.keyed && !c.config.NoAutoKey && !call.keyed() {
		call.header.Set(headerIdempotencyKey, rand.Text())
	}
	return call
}

// keyed reports whether the request has an idempotency key.
func (c *call) keyed() bool { return c.header.Get(headerIdempotencyKey) != "" }

// repeatable reports whether the request may be sent again even if the service has processed it.
func (c *call) repeatable() bool { return c.operation.idempotent || c.keyed() }

// send sends the request with an access token, and retries it as far as that is allowed. It returns the last
// attempt, if there was one. If the error is nil, its response is a success that the document allows.
func (c *call) send(ctx context.Context) (*attempt, error) {
	if err := c.begin(ctx); err != nil {
		if body, ok := c.stream.(io.Closer); ok {
			_ = body.Close()
		}
		return nil, err
	}
	defer c.file.Close() // also of nil
	return c.sendAgain(ctx)
}

// sendAgain is like send for a request that was made before.
func (c *call) sendAgain(ctx context.Context) (*attempt, error) {
	for {
		c.attempts++
		a := c.attempt(ctx)
		if a.err != nil || !c.operation.streams() {
			a.reports.end()
		}
		a.record(c.into)
		if a.err == nil {
			return a, nil
		}
		if err := c.prepareRetry(ctx, a); err != nil {
			return a, withOutcome(err, c.unknown)
		}
	}
}

// begin makes the request.
func (c *call) begin(ctx context.Context) error {
	switch {
	case c.err != nil:
		return c.err
	case c.params != nil:
		return errors.New("client: the call has parameters of another operation")
	case c.keyed() && !c.operation.keyed: // a retry would have a second effect
		return errors.New("client: WithIdempotencyKey: the operation takes no key")
	}
	request, err := c.newRequest(ctx)
	if err != nil {
		return err
	}
	c.request = request
	if request.Body != http.NoBody {
		c.body = request.Body
	}
	c.renewsToken = c.client.token != nil && !c.operation.public
	if c.renewsToken {
		return c.authorize(ctx, "")
	}
	return nil
}

// prepareRetry waits and prepares the next attempt after a, or returns the error of the call.
func (c *call) prepareRetry(ctx context.Context, a *attempt) error {
	if errorResponse, ok := errors.AsType[*Error](a.err); ok {
		errorResponse.Attempts = c.attempts
	}
	// If an earlier attempt may still be running, a conflict says only that the service is processing it.
	running := c.unknown && c.keyed() && errors.Is(a.err, ErrConflict)
	c.unknown = c.unknown || c.operation.once() && a.uncertain()
	last := c.final || c.attempts >= c.retry.Attempts || c.body != nil && c.request.GetBody == nil

	if c.renewsToken && errors.Is(a.err, ErrUnauthorized) {
		// The service did not process a request that it rejected with 401, so even a POST can be retried.
		// The token is renewed even if this call has no attempt left, so that the next one has a valid token.
		c.renewsToken = false
		refused := c.access
		c.request.Header = c.request.Header.Clone()
		if err := c.authorize(ctx, refused); err != nil {
			return err
		}
		if last || c.access == refused {
			return a.err
		}
	} else {
		delay := max(c.retry.delay(c.attempts, a.err), min(c.reconnect, c.retry.MaxDelay))
		inTime := ctx.Err() == nil && c.retry.allows(ctx, delay)
		if last || !inTime || !running && !retryable(a.err, c.repeatable() || a.unsent) {
			return a.err
		}
		c.client.config.Logger.WarnContext(ctx, "retrying", "method", c.request.Method, "path", c.request.URL.Path,
			"attempt", c.attempts, "wait", delay, "err", a.err)
		if err := pause(ctx, delay, a.err); err != nil {
			return err
		}
	}
	if c.body == nil {
		return nil
	}
	var err error
	c.body, err = c.request.GetBody()
	return err
}

// authorize sets an access token other than refused.
func (c *call) authorize(ctx context.Context, refused Credential) error {
	access, err := c.client.token(ctx, refused)
	if err != nil {
		return err
	}
	if !headerValue(string(access)) || hasScheme(access) {
		return errors.New("client: access token: has a character that is not allowed in a header, or its scheme")
	}
	c.request.Header.Del(headerAuthorization) // an earlier one
	if access != "" {
		c.request.Header.Set(headerAuthorization, "Bearer "+string(access))
	}
	c.access = access
	return nil
}
