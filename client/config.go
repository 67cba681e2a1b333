package client

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
)

const (
	defaultTimeout   = 30 * time.Second
	defaultUserAgent = "avatarstudio-go"
)

// Config says which service to call and as whom. BaseURL alone is enough for operations that
// need no token.
type Config struct {
	// BaseURL is the address of the service, such as "https://studio.example.com". It may have
	// a path, but no user information, query or fragment. Plain http is accepted for a
	// loopback host only, unless AllowHTTP is set. Required.
	BaseURL string

	// Email and Password are what the client logs in with when a call first needs a token. It
	// renews a JWT shortly before it expires, and any token that the service refuses.
	// When a login is refused, the client does not try again for a minute, and after 429 or 503 not
	// before Retry-After, but for a minute at most. Calls in that time wait as far as their [Retry]
	// allows it after 429 and 503, and fail with the same error otherwise.
	Email    string
	Password Credential

	// Token is an access token to use instead of Email and Password. It is never renewed.
	Token Credential

	// TokenSource gives the access tokens instead of Token, Email and Password. With none of
	// them, calls go out without a token.
	TokenSource TokenSource

	// Workspace is the workspace whose projects are listed. See also [WithWorkspace].
	Workspace string

	// HTTPClient sends the requests. The client uses a copy that follows no redirect. Its
	// RoundTripper sees each attempt and is the place for tracing and metrics. Defaults to
	// http.DefaultTransport.
	HTTPClient *http.Client

	// NoAutoKey is for a service that does not know the Idempotency-Key header. Creations are then
	// sent without one, and retried only if the service cannot have processed them. [WithIdempotencyKey]
	// still sets it. By default the client makes a random key for each creation.
	NoAutoKey bool

	// Retry says how often a request is sent. See also [WithRetry].
	Retry Retry

	// Poll says how often [Client.WaitAvatar] and its like ask the service.
	Poll Poll

	// Timeout bounds each attempt: the request and its whole answer. Defaults to 30 seconds. See
	// also [WithTimeout].
	Timeout time.Duration

	// MaxAnswer bounds the body of an answer, in bytes; a longer one is [ErrDecode]. An answer that is
	// streamed is not bounded. Defaults to 64 MiB.
	MaxAnswer int64

	// Receiver, if it takes the notifications of what the client creates, lets [Client.WaitAvatar]
	// and its like return as soon as an event arrives. A Client stays attached to it for good.
	Receiver *webhook.Receiver

	// Logger is told, at level warn, what is sent again and why, and, at level debug, of new
	// tokens. Defaults to silence.
	Logger *slog.Logger

	// AllowHTTP accepts a BaseURL over which passwords and tokens travel unencrypted.
	AllowHTTP bool

	// UserAgent is sent with every request. Defaults to "avatarstudio-go".
	UserAgent string
}

// FromEnv returns a Config of the environment variables STUDIO_BASE_URL, STUDIO_EMAIL,
// STUDIO_PASSWORD, STUDIO_TOKEN and STUDIO_WORKSPACE. [New] checks it.
func FromEnv() Config {
	return Config{
		BaseURL:   os.Getenv("STUDIO_BASE_URL"),
		Email:     os.Getenv("STUDIO_EMAIL"),
		Password:  Credential(os.Getenv("STUDIO_PASSWORD")),
		Token:     Credential(os.Getenv("STUDIO_TOKEN")),
		Workspace: os.Getenv("STUDIO_WORKSPACE"),
	}
}

func (c Config) validate() (*url.URL, error) {
	base, err := url.Parse(c.BaseURL)
	switch {
	case c.BaseURL == "":
		return nil, errors.New("client: BaseURL: is required")
	case err != nil || base.Hostname() == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("client: BaseURL: must be an absolute http or https URL")
	case !validPort(base.Port()):
		return nil, errors.New("client: BaseURL: must have a port from 1 to 65535 or none")
	case base.User != nil || base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return nil, errors.New("client: BaseURL: must not have user information, a query or a fragment")
	case base.Scheme == "http" && !c.AllowHTTP && !loopback(base.Hostname()):
		return nil, errors.New("client: BaseURL: must be https unless the host is loopback or AllowHTTP is set")
	case c.TokenSource != nil && (c.Token != "" || c.Email != "" || c.Password != ""):
		return nil, errors.New("client: TokenSource: must not be given together with Token, Email or Password")
	case c.Token != "" && (c.Email != "" || c.Password != ""):
		return nil, errors.New("client: Token: must not be given together with Email and Password")
	case c.Email == "" && c.Password != "":
		return nil, errors.New("client: Email: is required with Password")
	case c.Email != "" && c.Password == "":
		return nil, errors.New("client: Password: is required with Email")
	case !headerValue(string(c.Token)):
		return nil, errors.New("client: Token: has a character that a header cannot carry")
	case !headerValue(c.Workspace):
		return nil, errors.New("client: Workspace: has a character that a header cannot carry")
	case !headerValue(c.UserAgent):
		return nil, errors.New("client: UserAgent: has a character that a header cannot carry")
	case c.Timeout < 0:
		return nil, errors.New("client: Timeout: must not be negative")
	case c.MaxAnswer < 0:
		return nil, errors.New("client: MaxAnswer: must not be negative")
	}
	return base, cmp.Or(c.Retry.validate(), c.Poll.validate())
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && address.IsLoopback()
}

func validPort(port string) bool {
	number, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && number > 0
}

func headerValue(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
