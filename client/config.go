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
)

const (
	defaultTimeout   = 30 * time.Second
	defaultUserAgent = "avatarstudio-go"
)

// Config configures a [Client]. Only BaseURL is required, which is enough for operations that need no
// token.
type Config struct {
	// BaseURL is the address of the service, such as "https://studio.example.com". It may have a path, but
	// no user information, query or fragment. Plain http is accepted only for loopback hosts, unless
	// AllowHTTP is set. Required.
	BaseURL string

	// Email and Password are the credentials of the user. The client logs in when a call first needs a
	// token. It renews the token 30 seconds before it expires if it is a JWT, and otherwise when the
	// service rejects it with 401.
	//
	// After a login is rejected with 401, the client does not log in again for a minute, and calls in that
	// time fail with the same error. So do calls before the time of a Retry-After, which counts up to a minute.
	//
	// Set both or none. Email and Password, Token, and TokenSource exclude each other: New returns an error
	// for more than one. If none is set, the client sends no token.
	Email    string
	Password Credential

	// Token is an API key or an access token, without "Bearer", to use instead of Email and Password. It cannot be
	// renewed.
	Token Credential

	// TokenSource provides the access tokens instead of Token, Email and Password.
	TokenSource TokenSource

	// Workspace is the id of the workspace whose projects are listed, and of which avatars, videos and lip-syncs become
	// projects. See also [WithWorkspace]. Without either, [Client.ListProjects] fails without a request.
	Workspace string

	// Transport sends the requests. It is called for each attempt, so it is the place for tracing and metrics. Defaults
	// to http.DefaultTransport.
	Transport http.RoundTripper

	// NoAutoKey stops the client from adding an Idempotency-Key to creations, for services that do not
	// support this header. Creations are then retried only if the service cannot have processed them.
	// [WithIdempotencyKey] still sets a key. By default the client adds a random key to each creation.
	NoAutoKey bool

	// Retry configures retries. See also [WithRetry].
	Retry Retry

	// Timeout limits each attempt, from the request to the end of the response, or to the begin of a
	// response that is streamed. While a file is sent or received, it limits each write or read instead, and then the
	// response. Defaults to 30 seconds. See also [WithTimeout].
	Timeout time.Duration

	// Logger logs retries and their causes at level warn, and new tokens at level debug. Defaults to no
	// logging.
	Logger *slog.Logger

	// AllowHTTP accepts a BaseURL with plain http, which sends passwords and tokens unencrypted.
	AllowHTTP bool

	// UserAgent is the User-Agent of every request. Defaults to "avatarstudio-go".
	UserAgent string
}

// FromEnv returns a Config with the values of the environment variables STUDIO_BASE_URL, STUDIO_EMAIL,
// STUDIO_PASSWORD, STUDIO_TOKEN and STUDIO_WORKSPACE. It does not validate them; [New] does.
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
	case hasScheme(c.Token):
		return nil, errors.New("client: Token: must be only the token, without Bearer")
	case !headerValue(string(c.Token)):
		return nil, errors.New("client: Token: has a character that is not allowed in a header")
	case !headerValue(c.Workspace):
		return nil, errors.New("client: Workspace: has a character that is not allowed in a header")
	case !headerValue(c.UserAgent):
		return nil, errors.New("client: UserAgent: has a character that is not allowed in a header")
	}
	return base, cmp.Or(notNegative("Timeout", c.Timeout), c.Retry.validate())
}

func (c Config) withDefaults() Config {
	c.Transport = cmp.Or(c.Transport, http.DefaultTransport)
	c.Retry = c.Retry.withDefaults()
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.UserAgent = cmp.Or(c.UserAgent, defaultUserAgent)
	return c
}

// notNegative returns an error that names the field unless its value is positive or zero.
func notNegative[T int | time.Duration](field string, value T) error {
	if value < 0 {
		return errors.New("client: " + field + ": must not be negative")
	}
	return nil
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && address.IsLoopback()
}

func validPort(port string) bool {
	number, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && number > 0
}

// hasScheme reports whether a token is the whole value of an Authorization header.
func hasScheme(token Credential) bool {
	scheme, _, spaced := strings.Cut(strings.TrimSpace(string(token)), " ")
	return spaced && strings.EqualFold(scheme, "Bearer")
}

func headerValue(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
