package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"
)

// Limits of the body of a success and of another response, in bytes.
const (
	maxResponse = 64 << 20
	maxProblem  = 64 << 10
)

// attempt is one request of a call on the wire with its result.
type attempt struct {
	call     *call
	response *http.Response // nil if the service did not respond
	content  []byte         // body of the response, unless it is streamed
	err      error
	reports  *reportingBody // body of the request, or nil

	// Parts of the attempt, here because that is one allocation.
	sending sending
	trace   httptrace.ClientTrace
	limited io.LimitedReader

	unsent bool // the service cannot have processed the request, because no byte of its body was sent
}

// attempt makes one attempt. It reads the whole response, unless the operation streams its success. The
// timeout then applies only until the response begins.
func (c *call) attempt(ctx context.Context) *attempt {
	a := &attempt{call: c}
	ctx, limit := newTimeLimit(ctx, c.timeout)
	request := a.request(ctx)
	if c.body != nil && !c.operation.streams() {
		request.Body = &pacedBody{request.Body, limit}
	}
	response, err := c.client.roundTrip(request)
	if err != nil {
		limit.end()
		a.err = transportError(c.request, timeoutError(ctx, err))
		a.unsent = a.sending.seal()
		return a
	}
	response.Request = c.request
	a.response = response
	success := c.operation.success(response.StatusCode)
	if success && c.operation.streams() {
		response.Body = &timedBody{response.Body, limit}
		if !limit.timer.Stop() {
			response.Body.Close()
			a.err = transportError(c.request, context.DeadlineExceeded)
		}
		return a
	}
	defer limit.end()
	defer response.Body.Close()
	most := int64(maxResponse)
	if !success {
		most = maxProblem
	}
	a.limited = io.LimitedReader{R: response.Body, N: most + 1}
	a.content, err = io.ReadAll(&a.limited)
	long := int64(len(a.content)) > most
	a.content = a.content[:min(int64(len(a.content)), most)]
	switch {
	case !success:
		a.err = newProblemError(response, a.content)
	case err != nil:
		a.err = transportError(c.request, timeoutError(ctx, err))
	case long:
		a.err = newError(response, noteTooLarge)
	case !c.operation.promises(response, a.content):
		a.err = newError(response, noteNotPromised)
	}
	return a
}

// record stores the attempt in the Response of the call, if the caller asked for it.
func (a *attempt) record(into *Response) {
	if into == nil {
		return
	}
	*into = Response{Attempts: a.call.attempts, IdempotencyKey: a.call.header.Get(headerIdempotencyKey)}
	if a.response != nil {
		into.StatusCode, into.Header, into.Body = a.response.StatusCode, a.response.Header, a.content
	}
}

// timeLimit ends the context of a request when its timer fires. While a body is streamed, the timer is set again and
// again.
type timeLimit struct {
	timeout time.Duration
	timer   *time.Timer
	cancel  context.CancelCauseFunc
}

func newTimeLimit(ctx context.Context, timeout time.Duration) (context.Context, *timeLimit) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &timeLimit{timeout, time.AfterFunc(timeout, func() { cancel(context.DeadlineExceeded) }), cancel}
}

func (l *timeLimit) end() {
	l.timer.Stop()
	l.cancel(nil)
}

// pacedBody is a request body of any length. The timer limits each write, which is the time until net/http reads on,
// and then the response. It does not limit the source of the body.
type pacedBody struct {
	io.ReadCloser
	limit *timeLimit
}

func (b *pacedBody) Read(p []byte) (int, error) {
	b.limit.timer.Stop()
	n, err := b.ReadCloser.Read(p)
	b.limit.timer.Reset(b.limit.timeout)
	return n, err
}

// timedBody is the body of a response of any length. The timer limits each read.
type timedBody struct {
	io.ReadCloser
	limit *timeLimit
}

func (b *timedBody) Read(p []byte) (int, error) {
	b.limit.timer.Reset(b.limit.timeout)
	n, err := b.ReadCloser.Read(p)
	if !b.limit.timer.Stop() && err != nil {
		err = context.DeadlineExceeded
	}
	return n, err
}

func (b *timedBody) Close() error {
	defer b.limit.end()
	return b.ReadCloser.Close()
}

// timeoutError returns the error of a request with a time limit. HTTP/2 reports a timeout there as a cancellation.
func timeoutError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return err
}

// promises reports whether the document allows a success with this media type and content. If the document
// defines no body, any content is allowed.
func (o *operation) promises(response *http.Response, content []byte) bool {
	switch {
	case o.body == bodyNone || o.empty && len(content) == 0:
		return true
	case o.body == bodyText:
		return strings.HasPrefix(strings.ToLower(response.Header.Get("Content-Type")), "text/")
	}
	return isJSON(response)
}

func isJSON(response *http.Response) bool {
	return strings.Contains(strings.ToLower(response.Header.Get("Content-Type")), "json")
}

// transportError wraps the cause of err without the user information and the query of the URL.
func transportError(request *http.Request, err error) error {
	for wrapped, ok := errors.AsType[*url.Error](err); ok; wrapped, ok = errors.AsType[*url.Error](err) {
		err = wrapped.Err
	}
	address := url.URL{Scheme: request.URL.Scheme, Host: request.URL.Host, Path: request.URL.Path}
	return &url.Error{Op: request.Method, URL: address.String(), Err: err}
}
