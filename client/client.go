// Package client calls the Avatar Studio service.
//
// A [Client] logs in by itself when a call first needs a token, renews the token before it
// expires or when the service refuses it, and turns every answer that is not a success into
// an [*Error]. It follows no redirect, logs nothing and sends no call twice, with one
// exception: a call whose token was refused is sent once more with a new one. An answer may have
// up to 64 MiB.
package client

import (
	"encoding/json"
	"net/http"

	"github.com/avatarstudio/avatarstudio/gen"
)

// Client calls the service as one user. It is safe for concurrent use; make one and share it,
// because the tokens live in it.
type Client struct {
	api       *gen.Client
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
		doer.tokens = &tokens{api: api, email: config.Email, password: config.Password}
	}
	return &Client{api: api, workspace: config.Workspace}, nil
}

// Raw returns the generated client, which has every operation of the document and shows whole
// responses. Tokens, renewals, limits and errors apply to it too; only a member of the wrong
// type is reported by encoding/json instead of as [ErrDecode]. A request that already has an
// Authorization header is sent with that header and is never repeated.
func (c *Client) Raw() *gen.ClientWithResponses {
	return &gen.ClientWithResponses{ClientInterface: c.api}
}

// decode reads the answer of a call. It is strict about JSON that cannot be a T and tolerant
// of everything else: unknown members and values, null, missing members.
func decode[T any](response *http.Response, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer *T
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer == nil {
		return nil, newError(response, noteNotPromised)
	}
	return answer, nil
}
