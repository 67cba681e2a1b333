// Package client calls the Avatar Studio service.
//
// A [Client] logs in by itself when a call first needs a token, and renews the token before it expires
// or when the service refuses it. Concurrent calls share one login. When a login fails, each call waits
// for the next attempt within its own [Retry] and its own context. The client follows no redirect and
// logs nothing unless it is given a logger.
//
// In a request, gen.Value(v) sends a member, gen.Null[T]() sends null, and what is not given is left out.
// [Client.Raw] is the generated client with the same logins, retries and errors.
//
// # Errors
//
// What the service answers is an [*Error] with status, problem document, request id and number of
// attempts; no answer is a [*net/url.Error]. No error shows a password, a token or a query. The classes,
// for errors.Is:
//
//   - [ErrInvalid] (400, 413, 415, 422), [ErrNotFound] (404) and [ErrConflict] (409): change the request.
//   - [ErrUnauthorized] (401, although the token was renewed) and [ErrForbidden] (403): change the credentials.
//   - [ErrRateLimited] (429) and [ErrServer] (5xx): try later, after Error.RetryAfter.
//   - [ErrDecode]: a 2xx that is not what the document promises.
//   - [ErrOutcomeUnknown], beside another class: a write that may have succeeded although the client saw it fail.
//
// # Retries
//
// The client makes up to Retry.Attempts attempts, within the context of the call. It retries reads, logins
// and requests with an idempotency key after any transient failure: no answer, 408, 429, and 5xx except
// 501; a login after 429 only with Retry-After. It retries other requests only if the service cannot have
// processed them: nothing was sent, or the answer is 429 or 503 with Retry-After. A creation gets an
// idempotency key by itself, unless [Config].NoAutoKey is set, so that the service creates once however
// often the client sends it. With [WithIdempotencyKey], a creation can be repeated for a day, also after a
// restart of the program.
//
// # Reading
//
// A time may have any form of ISO 8601, and without a zone it is in UTC. A member that is not required
// and cannot be read, or such an item of a list, is left out instead of failing the call, and
// [Response].LeftOut names it. The iterators [Client.Avatars], [Client.Videos] and [Client.Lipsyncs] read
// the next page when they need it.
//
// # Waiting and files
//
// [Client.WaitAvatar], [Client.WaitVideo] and [Client.WaitLipsync] return what has come to its end. They
// poll, or learn of it from the program's webhooks ([Config].Receiver). [Client.UploadMedia] uploads an
// input; [Client.DownloadFile] and [Client.Download] resume what broke off. [WithProgress] reports all
// three.
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
