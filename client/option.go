package client

import (
	"errors"
	"maps"
	"net/http"
	"time"
	"unicode/utf8"
)

const (
	headerAuthorization  = "Authorization"
	headerIdempotencyKey = "Idempotency-Key"
	headerWorkspace      = "X-Workspace-Id"

	maxKey = 255
)

var errNoWorkspace = errors.New("client: no workspace: set Config.Workspace or use WithWorkspace")

// CallOption changes a single call. A call with a wrong one fails, and nothing is sent.
// The optional parameters of an operation, such as [ListAvatarsParams], are one too.
type CallOption interface{ apply(*call) }

type optionFunc func(*call)

func (f optionFunc) apply(c *call) { f(c) }

// call is one call with options. The generated client sends through it.
type call struct {
	doer      *doer
	operation *operation
	params    CallOption // optional parameters that nobody has taken
	header    http.Header
	limits    limits
	into      *Response
	ownKey    bool // the idempotency key is the client's
	err       error

	untilConsent bool
	progress     func(done, total int64)
}

// limits bound a call and its attempts.
type limits struct {
	retry   Retry
	timeout time.Duration
}

// Response is what the service answered, as it came.
type Response struct {
	// StatusCode is the status of the last answer. Zero if the last attempt got none.
	StatusCode int

	// Header is the header of the last answer.
	Header http.Header

	// Body is the body of the last answer: of a success up to [Config].MaxAnswer, of any other
	// answer its first 64 KiB.
	Body []byte

	// Attempts is how many times the request was sent.
	Attempts int

	// IdempotencyKey is the key that the request was sent with, given or made by the client.
	IdempotencyKey string

	// LeftOut names what the typed answer lacks because it could not be read, by JSON pointers into
	// Body, such as "/data/3/created_at". At most 1,000 are named.
	LeftOut []string

	unsent bool // see attempt
}

// WithIdempotencyKey replaces the random key of a creation, so that it can be made again in another
// call, or by another process, with the same key and the same body: the service then answers what it
// answered first and creates nothing. A 409 that follows an attempt without a clear end, such as a
// timeout or a 502, means that the service is still working on that attempt, and is retried. Use a
// key of 1 to 255 characters, and for nothing but creations.
func WithIdempotencyKey(key string) CallOption {
	return optionFunc(func(c *call) {
		if key == "" || utf8.RuneCountInString(key) > maxKey {
			c.err = errors.New("client: WithIdempotencyKey: must have 1 to 255 characters")
		}
		c.set(headerIdempotencyKey, key, "WithIdempotencyKey")
	})
}

// WithWorkspace replaces [Config].Workspace.
func WithWorkspace(id string) CallOption {
	return optionFunc(func(c *call) { c.set(headerWorkspace, id, "WithWorkspace") })
}

// WithRetry replaces [Config].Retry, for a login that the call needs too.
func WithRetry(retry Retry) CallOption {
	return optionFunc(func(c *call) {
		if err := retry.validate(); err != nil {
			c.err = err
		}
		c.limits.retry = retry.withDefaults()
	})
}

// WithTimeout replaces [Config].Timeout, which bounds each attempt, but not for a login that the
// call needs. It must be positive. The context bounds the whole call.
func WithTimeout(timeout time.Duration) CallOption {
	return optionFunc(func(c *call) {
		if timeout <= 0 {
			c.err = errors.New("client: WithTimeout: must be positive")
		}
		c.limits.timeout = timeout
	})
}

// WithResponse fills into with the last answer, also when the call fails. Calls that are made at the
// same time need one each.
func WithResponse(into *Response) CallOption {
	return optionFunc(func(c *call) { c.into = into })
}

func newCall(doer *doer, options []CallOption) *call {
	c := &call{doer: doer, limits: doer.limits}
	for _, option := range options {
		option.apply(c)
	}
	return c
}

func (c *call) set(name, value, option string) {
	if !headerValue(value) {
		c.err = errors.New("client: " + option + ": has a character that a header cannot carry")
	}
	if c.header == nil {
		c.header = http.Header{}
	}
	c.header.Set(name, value)
}

// Do implements gen.HttpRequestDoer.
func (c *call) Do(request *http.Request) (*http.Response, error) {
	if c.err != nil {
		return nil, c.err
	}
	maps.Copy(request.Header, c.header)
	c.reportBody(request)
	if c.operation == nil {
		c.operation = operationOf(request)
	}
	return c.doer.do(request, c)
}
