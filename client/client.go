// Package client calls the Avatar Studio service.
//
// A [Client] logs in when a call first needs an access token. It renews the token before it expires, or
// when the service rejects it, with the refresh token, or otherwise with another login. Concurrent calls
// share one login and its error. A login is retried as [Config].Retry says, and does not end with the contexts of the
// calls. The methods [Client.Login], [Client.RefreshTokens] and [Client.Logout] are about other tokens than those that
// the client uses. The client does not follow redirects. It logs nothing unless [Config].Logger is set, but net/http
// logs what a service sends after the end of a response.
//
// In a request, gen.Value(v) sends a member with a value, gen.Null[T]() sends null, and a member that is
// not set is omitted. JSON has U+FFFD for what is not UTF-8 in a text.
//
// # Errors
//
// A response that is not a success is an [*Error] with the status, the problem document, the request id
// and the number of attempts. If the service did not respond, the error is a [*net/url.Error], or wraps that of the
// context if this ended before a request or between two. Errors never contain passwords, tokens or the query of a URL.
// Test for these classes with errors.Is:
//
//   - [ErrInvalid] (400, 413, 415, 422), [ErrNotFound] (404) and [ErrConflict] (409): change the request.
//   - [ErrUnauthorized] (401, even with a renewed token if the request can be sent again) and [ErrForbidden] (403):
//     change the credentials.
//   - [ErrRateLimited] (429) and [ErrServer] (5xx, and what is no status of a response): retry later, after
//     Error.RetryAfter.
//   - [ErrDecode]: the response is a success that the document does not allow, or is larger than 64 MiB, or the cursors
//     of a list repeat.
//   - [ErrCut], joined to the cause: a stream broke off.
//   - [ErrOutcomeUnknown], joined to another class: the call failed, but the write may have succeeded.
//
// # Retries
//
// The client makes up to Retry.Attempts attempts within the context of the call. It retries idempotent
// operations, logins, and requests with an idempotency key after any transient failure: no response, 408,
// 429, and 5xx except 501. All other requests are retried only if the service cannot have processed them: nothing was
// sent, or the response is 429 or 503 with Retry-After. A server whose certificate is not trusted is not tried again. A
// body that is neither in memory nor a regular file is sent only once.
//
// The client adds an idempotency key to each creation, unless [Config].NoAutoKey is set, so that retries
// create one record. A program that sets the key itself with [WithIdempotencyKey] can repeat a creation
// for 24 hours, even after a restart.
//
// # Decoding
//
// The client accepts times in any format of ISO 8601. A time without a zone is in UTC. A member or list
// item that cannot be decoded does not fail the call unless it is required: the client omits it and lists
// it in [Response].LeftOut. The iterators [Client.Avatars], [Client.Videos], [Client.Lipsyncs], [Client.Events] and
// [Client.Endpoints] request further pages as needed.
//
// # Streams
//
// The method of an operation that responds with a stream returns an iterator. A range over it sends the request and
// gets each item as it arrives; leaving the range closes the connection. The last pair has the error with which the
// stream ended, if any. Config.Timeout applies until the response begins. A stream that then sends nothing for a
// minute, or for Config.Timeout if that is longer, counts as broken off, and an item above 1 MiB is an [ErrDecode].
//
// If the document declares ids for server-sent events, the client resumes a stream that breaks off, or that the service
// ends with a transient error, with the header Last-Event-ID. It makes up to Retry.Attempts attempts in a row that give
// no event and end before Retry.MaxDelay. A response that ends properly ends the stream, and so does a 204: unlike
// browsers, the client does not ask for more. Any other stream that breaks off is an [ErrCut]: the client does not send
// the request again after the response has begun.
//
// [Client.EventsSince] lists the past events of the user and goes on with the stream of new ones.
//
// # Waiting and files
//
// [Client.WaitAvatar], [Client.WaitVideo] and [Client.WaitLipsync] poll the service and return when a record reaches a
// final state. A program with many records in progress receives their events instead, with package webhook or
// [Client.EventsSince].
// [Client.UploadMedia] uploads an input, and closes it if it is an [io.Closer]. [Client.DownloadFile] and
// [Client.Download] resume interrupted downloads. [WithProgress] reports the progress of uploads and downloads.
package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// Client calls the service as one user. It is safe for concurrent use. Programs should create one Client
// per user and share it, because it holds the tokens. A Client must not be copied.
type Client struct {
	config    Config // with defaults, and without what package fmt would print
	transport func(*http.Request) (*http.Response, error)
	standard  bool   // requests are sent by an http.Transport
	base      string // the URL before the path of an operation
	userAgent []string
	token     tokenFunc // nil without credentials
}

// New returns a Client. It sends no request. If config is invalid, the error names the field but not its
// value.
func New(config Config) (*Client, error) {
	base, err := config.validate()
	if err != nil {
		return nil, err
	}
	c := &Client{config: config.withDefaults(), base: strings.TrimSuffix(base.JoinPath().String(), "/")}
	c.userAgent = []string{c.config.UserAgent}
	c.transport = c.config.Transport.RoundTrip
	_, c.standard = c.config.Transport.(*http.Transport)
	c.config.AllowHTTP = c.config.AllowHTTP || base.Scheme == "http"
	c.config.Transport, c.config.Password, c.config.Token, c.config.TokenSource = nil, "", "", nil
	switch {
	case config.Email != "":
		c.token = (&tokens{client: c, email: config.Email, password: config.Password}).token
	case config.Token != "":
		c.token = func(context.Context, Credential) (Credential, error) { return config.Token, nil }
	case config.TokenSource != nil:
		c.token = config.TokenSource.Token
	}
	return c, nil
}

// roundTrip sends a request. Of what only fakes return, it makes what an [http.Client] makes of it.
func (c *Client) roundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.transport(request)
	switch {
	case err == nil && response == nil:
		err = errors.New("the transport returned neither a response nor an error")
	case err == nil && response.Body == nil:
		response.Body = http.NoBody
	case err == nil && response.StatusCode == http.StatusSwitchingProtocols:
		response.Body.Close() // it is the raw connection, which does not end with the context
		response.Body = http.NoBody
	}
	return response, err
}
