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

const (
	defaultMaxResponseBytes = 64 << 20
	maxProblem              = 64 << 10
)

// attempt is one request of a call on the wire with its result.
type attempt struct {
	call     *call
	response *http.Response // nil if the service did not respond
	content  []byte         // body of the response, unless it is streamed
	err      error

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
	streams := c.operation.streams()
	paced := c.body != nil && !streams
	ctx, cancel, timer := bound(ctx, c.timeout, streams || paced)
	streaming := false
	defer func() {
		if !streaming {
			cancel()
		}
	}()
	request := a.request(ctx)
	if paced {
		request.Body = &pacedBody{request.Body, timer, c.timeout}
	}
	response, err := c.client.do(request)
	if err != nil {
		a.err = transportError(c.request, timeoutError(ctx, err))
		a.unsent = a.sending.seal()
		return a
	}
	response.Request = c.request
	a.response = response
	success := c.operation.success(response.StatusCode)
	if success && streams {
		response.Body = &openBody{response.Body, cancel}
		if streaming = timer.Stop(); !streaming {
			response.Body.Close()
			a.err = transportError(c.request, context.DeadlineExceeded)
		}
		return a
	}
	defer response.Body.Close()
	limit := c.client.maxResponseBytes
	if !success {
		limit = maxProblem
	}
	a.limited = io.LimitedReader{R: response.Body, N: limit + 1}
	a.content, err = io.ReadAll(&a.limited)
	long := int64(len(a.content)) > limit
	a.content = a.content[:min(int64(len(a.content)), limit)]
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

// redirectFilter removes a Location header that cannot be parsed. net/http would otherwise replace the
// response with an error that shows the header.
type redirectFilter struct{ next http.RoundTripper }

func (u *redirectFilter) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := u.next.RoundTrip(request)
	if response == nil || response.StatusCode/100 != 3 {
		return response, err
	}
	if _, err := url.Parse(response.Header.Get("Location")); err != nil {
		response.Header = response.Header.Clone()
		response.Header.Del("Location")
	}
	return response, nil
}

// bound returns a context that ends after timeout. If the request or the response is streamed, that is when the timer
// fires, which the caller may reset or stop.
func bound(ctx context.Context, timeout time.Duration, streamed bool) (_ context.Context, cancel func(), timer *time.Timer) {
	if !streamed {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		return ctx, cancel, nil
	}
	ctx, stop := context.WithCancelCause(ctx)
	timer = time.AfterFunc(timeout, func() { stop(context.DeadlineExceeded) })
	return ctx, func() { timer.Stop(); stop(nil) }, timer
}

// pacedBody is a request body of any length. The timer limits each write, which is the time until net/http reads on,
// and then the response. It does not limit the source of the body.
type pacedBody struct {
	io.ReadCloser
	timer   *time.Timer
	timeout time.Duration
}

func (b *pacedBody) Read(p []byte) (int, error) {
	b.timer.Stop()
	n, err := b.ReadCloser.Read(p)
	b.timer.Reset(b.timeout)
	return n, err
}

// timeoutError returns the error of a request with a context of bound. HTTP/2 reports a timeout there as a
// cancellation.
func timeoutError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return err
}

// openBody is the body of a response that the caller reads.
type openBody struct {
	io.ReadCloser
	cancel func()
}

func (b *openBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
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
