// Package client calls the Avatar Studio service.
//
// A [Client] logs in by itself when a call first needs a token, renews the token before it
// expires or when the service refuses it, and turns every answer that is not a success into
// an [*Error]. It follows no redirect and logs nothing unless it is given a logger. An answer may
// have up to 64 MiB.
//
// What failed is sent again as far as that is safe, within the budget of [Retry]: a request that
// reads, or that has an idempotency key, after every failure that may pass; any other request that
// needs a token only if the service cannot have carried it out; a login and a renewal only if
// nothing of them was sent. When a request that creates fails and may have been carried out all the
// same, the error is [ErrOutcomeUnknown] too.
package client

import (
	"encoding/json"
	"net/http"

	"github.com/avatarstudio/avatarstudio/gen"
)

// Client calls the service as one user. It is safe for concurrent use; make one and share it,
// because the tokens live in it.
type Client struct {
	doer      *doer
	api       *gen.Client
	events    *events // nil without a Receiver
	workspace string
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
		doer.tokens = &tokens{api: api, logger: doer.logger, email: config.Email, password: config.Password}
	}
	client := &Client{doer: doer, api: api, workspace: config.Workspace}
	if config.Receiver != nil {
		client.events = newEvents()
		config.Receiver.Observe(client.events.observe)
	}
	return client, nil
}

// Raw returns the generated client, which has every operation of the document and shows whole
// responses. Tokens, renewals, retries, limits and errors apply to it too; only a member of the
// wrong type is reported by encoding/json instead of as [ErrDecode]. A request that already has an
// Authorization header is sent with that header, and not again when the service refuses it; a body
// that can be read only once is sent only once.
func (c *Client) Raw() *gen.ClientWithResponses {
	return &gen.ClientWithResponses{ClientInterface: &gen.Client{Server: c.api.Server, Client: &rawDoer{c.doer}}}
}

// with returns the generated client for one call.
func (c *Client) with(options []CallOption) *gen.Client {
	if len(options) == 0 {
		return c.api
	}
	call := newCall(c.doer, options)
	return &gen.Client{Server: c.api.Server, Client: call}
}

// decode reads the answer of a call. It is strict about JSON that cannot be a T and tolerant
// of everything else: unknown members and values, null, missing members.
func decode[T any](response *http.Response, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	var value *T
	if err := json.Unmarshal(response.Body.(*answer).content, &value); err != nil || value == nil {
		return nil, notPromised(response)
	}
	return value, nil
}
