package client

import (
	"errors"
	"net/http"
	"strings"
	"time"
)

const (
	headerAuthorization  = "Authorization"
	headerIdempotencyKey = "Idempotency-Key"
	headerLastEventID    = "Last-Event-ID"
	headerWorkspace      = "X-Workspace-Id"

	maxKey = 255
)

var errNoWorkspace = errors.New("client: no workspace: set Config.Workspace or use WithWorkspace")

// CallOption changes a single call. The optional parameters of an operation, such as [ListAvatarsParams],
// are also CallOptions. A call with an invalid option fails without sending a request.
type CallOption interface{ apply(*call) }

type optionFunc func(*call)

func (f optionFunc) apply(c *call) { f(c) }

// Response describes the last response of a call.
type Response struct {
	// StatusCode is the status of the last response, or zero if the service did not respond to the last
	// attempt.
	StatusCode int

	// Header is the header of the last response. The method Decode of a struct such as
	// gen.TooManyRequestsResponseHeaders reads the headers that the document describes.
	Header http.Header

	// Body is the body of the last response. The body of a success has at most 64 MiB, all other bodies are cut off
	// after 64 KiB.
	Body []byte

	// Attempts is the number of attempts that were made.
	Attempts int

	// IdempotencyKey is the key of the request, whether the caller or the client chose it.
	IdempotencyKey string

	// LeftOut lists up to 1,000 members that could not be decoded, as JSON pointers into Body, such as
	// "/data/3/created_at".
	LeftOut []string
}

// WithIdempotencyKey sets the idempotency key of a creation, which replaces the random key of the client.
// If another call, even of another process, sends the same key and body within 24 hours, the service
// returns its first response and creates nothing.
//
// A 409 after an attempt whose outcome is unknown, such as a timeout or a 502, means that the service is
// still processing that attempt. The client retries it. The key has 1 to 255 characters of visible
// ASCII. Only creations and [Client.ReplayEvents] take one: any other call fails without sending a request.
func WithIdempotencyKey(key string) CallOption {
	return optionFunc(func(c *call) {
		if key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r < '!' || r > '~' }) {
			c.err = errors.New("client: WithIdempotencyKey: must have 1 to 255 characters of visible ASCII")
		}
		c.header.Set(headerIdempotencyKey, key)
	})
}

// WithWorkspace overrides [Config].Workspace. The id must not be empty.
func WithWorkspace(id string) CallOption {
	return optionFunc(func(c *call) { c.set(headerWorkspace, id, "WithWorkspace") })
}

// WithRetry overrides [Config].Retry, but not for a login that the call needs.
func WithRetry(retry Retry) CallOption {
	return optionFunc(func(c *call) {
		if err := retry.validate(); err != nil {
			c.err = err
		}
		c.retry = retry.withDefaults()
	})
}

// WithTimeout overrides [Config].Timeout for each attempt of the call, but not for a login that the call
// needs. The timeout must be positive. Use the context to limit the whole call.
func WithTimeout(timeout time.Duration) CallOption {
	return optionFunc(func(c *call) {
		if timeout <= 0 {
			c.err = errors.New("client: WithTimeout: must be positive")
		}
		c.timeout = timeout
	})
}

// WithResponse stores the last response in into, even if the call fails. Concurrent calls must not share a
// Response.
func WithResponse(into *Response) CallOption {
	return optionFunc(func(c *call) { c.into = into })
}

func (c *call) set(name, value, option string) {
	if !headerValue(value) {
		c.err = errors.New("client: " + option + ": has a character that is not allowed in a header")
	}
	c.header.Set(name, value)
}
