// Package client calls the Avatar Studio service.
//
// A [Client] logs in when a call first needs an access token. It renews the token before it expires, or
// when the service rejects it, with the refresh token, or otherwise with another login. Concurrent calls
// share one login. If the login fails with a transient error, each call waits for the next login if its own [Retry] and
// context allow that, and otherwise returns the error. The methods [Client.Login],
// [Client.RefreshTokens] and [Client.Logout] are about other tokens than those that the client uses. The client does
// not follow redirects, and it logs nothing unless [Config].Logger is set.
//
// In a request, gen.Value(v) sends a member with a value, gen.Null[T]() sends null, and a member that is
// not set is omitted.
//
// # Errors
//
// A response that is not a success is an [*Error] with the status, the problem document, the request id
// and the number of attempts. If the service did not respond, the error is a [*net/url.Error]. Errors
// never contain passwords, tokens or the query of a URL. Test for these classes with errors.Is:
//
//   - [ErrInvalid] (400, 413, 415, 422), [ErrNotFound] (404) and [ErrConflict] (409): change the request.
//   - [ErrUnauthorized] (401, even with a renewed token) and [ErrForbidden] (403): change the credentials.
//   - [ErrRateLimited] (429) and [ErrServer] (5xx): retry later, after Error.RetryAfter.
//   - [ErrDecode]: the response is a success that the document does not allow.
//   - [ErrCut], joined to the cause: a stream broke off.
//   - [ErrOutcomeUnknown], joined to another class: the call failed, but the write may have succeeded.
//
// # Retries
//
// The client makes up to Retry.Attempts attempts within the context of the call. It retries idempotent
// operations, logins, and requests with an idempotency key after any transient failure: no response, 408,
// 429, and 5xx except 501. A login is retried after 429 only if the response has Retry-After. All other
// requests are retried only if the service cannot have processed them: nothing was sent, or the response
// is 429 or 503 with Retry-After.
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
// minute, or for Config.Timeout if that is longer, counts as broken off.
//
// If the document declares ids for server-sent events, the client resumes a stream that breaks off, or that the service
// ends with a transient error, with the header Last-Event-ID. It makes up to Retry.Attempts attempts without a new
// event. It drops the first events of the new connection whose ids it has already seen, as far as they are among the
// last 256, so that the caller gets each event with an id once. A response that ends properly ends the stream, and so
// does a 204: unlike browsers, the client does not ask for more. Any other stream that breaks off is an [ErrCut]: the
// client does not send the request again after the response has begun.
//
// [Client.EventsSince] lists the past events of the user and goes on with the stream of new ones.
//
// # Waiting and files
//
// [Client.WaitAvatar], [Client.WaitVideo] and [Client.WaitLipsync] poll the service and return when a record reaches a
// final state. A program with many records in progress receives their events instead, with package webhook or
// [Client.EventsSince].
// [Client.UploadMedia] uploads an input. [Client.DownloadFile] and [Client.Download] resume interrupted
// downloads. [WithProgress] reports the progress of waits, uploads and downloads.
package client

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Client calls the service as one user. It is safe for concurrent use. Programs should create one Client
// per user and share it, because it holds the tokens. A Client must not be copied.
type Client struct {
	http             http.Client
	transport        *http.Transport // of http, if http adds nothing to it
	base             string          // the URL before the path of an operation
	userAgent        []string
	workspace        string
	token            tokenFunc // nil without credentials
	retry            Retry
	timeout          time.Duration
	poll             Poll
	maxResponseBytes int64
	maxItemBytes     int
	noAutoKey        bool
	allowHTTP        bool // whether URLs in responses may be http
	logger           *slog.Logger

	// refused is a token that the service rejected when its call had no attempt left. The next call
	// reports it to the token source.
	refused atomic.Pointer[Credential]
}

// New returns a Client. It sends no request. If config is invalid, the error names the field but not its
// value.
func New(config Config) (*Client, error) {
	base, err := config.validate()
	if err != nil {
		return nil, err
	}
	c := &Client{
		base:             strings.TrimSuffix(base.JoinPath().String(), "/"),
		userAgent:        []string{cmp.Or(config.UserAgent, defaultUserAgent)},
		workspace:        config.Workspace,
		retry:            config.Retry.withDefaults(),
		timeout:          cmp.Or(config.Timeout, defaultTimeout),
		poll:             config.Poll.withDefaults(),
		maxResponseBytes: min(cmp.Or(config.MaxResponseBytes, defaultMaxResponseBytes), math.MaxInt64-1), // an attempt reads one byte more
		maxItemBytes:     cmp.Or(config.MaxItemBytes, defaultMaxItemBytes),
		noAutoKey:        config.NoAutoKey,
		allowHTTP:        config.AllowHTTP || base.Scheme == "http",
		logger:           cmp.Or(config.Logger, slog.New(slog.DiscardHandler)),
	}
	switch {
	case config.Email != "":
		c.token = (&tokens{client: c, email: config.Email, password: config.Password}).token
	case config.Token != "":
		c.token = func(context.Context, Credential, Retry) (Credential, error) { return config.Token, nil }
	case config.TokenSource != nil:
		c.token = func(ctx context.Context, refused Credential, _ Retry) (Credential, error) {
			return config.TokenSource.Token(ctx, refused)
		}
	}
	if config.HTTPClient != nil {
		c.http = *config.HTTPClient
	}
	// A redirect to another host would also send the body there, which may contain a password.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if c.http.Transport == nil {
		c.http.Transport = http.DefaultTransport
	}
	if c.http.Jar == nil && c.http.Timeout == 0 {
		c.transport, _ = c.http.Transport.(*http.Transport)
	}
	c.http.Transport = &redirectFilter{c.http.Transport}
	return c, nil
}

// do sends a request. http.Client would copy its header for redirects, which the client does not follow.
func (c *Client) do(request *http.Request) (*http.Response, error) {
	if c.transport != nil {
		return c.transport.RoundTrip(request)
	}
	return c.http.Do(request)
}
