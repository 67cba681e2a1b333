// Package client calls the Avatar Studio service.
//
// A [Client] logs in by itself when a call first needs a token, renews the token before it
// expires or when the service refuses it, and turns every answer that is not a success into
// an [*Error]. It follows no redirect and logs nothing unless it is given a logger.
//
// The client retries failed requests up to Retry.Attempts. Reads, logins and requests with an
// idempotency key are retried after any transient failure: no answer, 408, 429, and 5xx except 501;
// a login after 429 only with Retry-After. Other requests are retried only if the service cannot
// have processed them: nothing was sent, or the answer is 429 or 503 with Retry-After. A creation
// gets an idempotency key by itself, unless [Config].NoAutoKey is set, so that the service creates
// once however often the client sends it.
//
// Concurrent calls share one login, and one renewal. When it fails, each call waits for the next
// attempt within its own [Retry] and its own context.
//
// The error of a write that may have succeeded although the client saw it fail is also
// [ErrOutcomeUnknown].
//
// The client is tolerant of what it reads. A time may have any form of ISO 8601, and without a zone
// it is in UTC. A member that is not required and cannot be read, or an item of a list, is left out
// instead of failing the call, and [Response].LeftOut names it.
package client

import (
	"github.com/avatarstudio/avatarstudio/gen"
)

// Client calls the service as one user. It is safe for concurrent use; make one and share it,
// because the tokens live in it.
type Client struct {
	doer      *doer
	api       *gen.Client
	events    *events // nil without a Receiver
	workspace string
	noAutoKey bool
	allowHTTP bool // of the addresses that the service answers
	poll      Poll
}

// New checks config and returns a Client. It sends nothing. The error names the field of
// [Config] that is wrong and never shows its value.
func New(config Config) (*Client, error) {
	base, err := config.validate()
	if err != nil {
		return nil, err
	}
	doer := newDoer(config)
	api, err := gen.NewClient(base.String(), gen.WithHTTPClient(doer))
	if err != nil {
		return nil, err
	}
	if config.Email != "" {
		doer.tokens = &tokens{api: *api, doer: doer, email: config.Email, password: config.Password}
	}
	client := &Client{
		doer: doer, api: api, workspace: config.Workspace,
		noAutoKey: config.NoAutoKey, allowHTTP: config.AllowHTTP || base.Scheme == "http", poll: config.Poll.withDefaults(),
	}
	if config.Receiver != nil {
		client.events = newEvents()
		config.Receiver.Observe(client.events.observe)
	}
	return client, nil
}

// Raw returns the generated client, which has every operation of the document and shows whole
// responses. Tokens, renewals, retries, limits and errors apply to it too, but idempotency keys are
// yours, and encoding/json reads the answers: a member that it cannot read, such as a time of another
// form than RFC 3339, is its error. A request that already has an
// Authorization header is sent with that header, and not again when the service refuses it; a body
// that can be read only once is sent only once.
func (c *Client) Raw() *gen.ClientWithResponses {
	return &gen.ClientWithResponses{ClientInterface: &gen.Client{Server: c.api.Server, Client: &rawDoer{c.doer}}}
}
