// Package sender delivers webhook events: one event, one signed request, one guarded
// attempt. What comes before and after an attempt (order, retry, back-off, limits per
// receiver) is the caller's.
//
// A receiver's URL is written by a user, so it may point anywhere and its answer may be
// anything. The same guard judges a URL when it is registered ([Sender.CanonicalURL]) and
// every address when it is dialled; see [Config.AllowNetworks]. Redirects and proxies are
// never followed, answers are never inflated, and of each no more than 64 KiB of headers
// and 4 KiB of body are read, all within one deadline.
package sender

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/avatarstudio/avatarstudio/api/standardwebhooks"
)

const (
	headerLimit  = 64 << 10
	excerptLimit = 4 << 10

	maxIdle = 256
	// Common servers close an idle connection after 5 s. Closing first avoids sending
	// into a connection that is about to go.
	idleTimeout = 4 * time.Second
)

// Sender makes attempts. It may be used by several goroutines at once, and reuses
// connections between attempts to the same host. It speaks HTTP/1.1 alone: one attempt
// per connection keeps attempts from delaying each other, and nothing is sent twice.
type Sender struct {
	config    Config
	guard     *guard
	transport *http.Transport
}

// New returns a Sender, or an error when a setting makes no sense.
func New(cfg Config) (*Sender, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	guard := newGuard(cfg.AllowHTTP, cfg.AllowNetworks)
	dialer := &net.Dialer{
		Timeout:        cfg.ConnectTimeout,
		Resolver:       cfg.Resolver,
		ControlContext: guard.control,
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &Sender{
		config: cfg,
		guard:  guard,
		transport: &http.Transport{
			Proxy:                  nil, // not even from the environment: a proxy would dial for us, unguarded
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{RootCAs: cfg.RootCAs, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    cfg.TLSTimeout,
			DisableCompression:     true,
			MaxIdleConns:           maxIdle,
			MaxIdleConnsPerHost:    cfg.MaxIdlePerHost,
			IdleConnTimeout:        idleTimeout,
			MaxResponseHeaderBytes: headerLimit,
			Protocols:              protocols,
		},
	}, nil
}

// Close closes the connections that are idle. Attempts under way go on.
func (s *Sender) Close() { s.transport.CloseIdleConnections() }

// CanonicalURL checks a URL as every attempt does and returns the URL that attempts use: its
// host in lower-case ASCII (IDNA) or as a canonical address, without a default port and without
// a fragment. URLs that lead to the same receiver therefore share one scheme, host and port.
//
// CanonicalURL looks up no name, so an accepted host name may still lead to an address that is
// refused when it is dialled. The error is a [*RefusedError].
func (s *Sender) CanonicalURL(raw string) (string, error) {
	u, err := s.guard.parse(raw)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// Message is one event on its way to one receiver.
type Message struct {
	URL      string
	ID       string // the same in each attempt
	Sequence int64  // position among the events of its subject
	Body     []byte // JSON, the same bytes in each attempt
	Secrets  []standardwebhooks.Secret
}

// Send makes one attempt to deliver m: a POST signed at the present time. It returns by
// the deadline, after it has read the answer's body to its end or to 4 KiB. A connection is
// reused only if the body ended within that.
func (s *Sender) Send(ctx context.Context, m Message) Attempt {
	start := time.Now()
	attempt := Attempt{At: s.config.Now()}
	limited, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	trace := &trace{guard: s.guard}
	request, failure := s.request(trace.attach(limited), m, attempt.At)
	if failure != "" {
		attempt.Failure = failure
		return attempt
	}
	response, err := s.transport.RoundTrip(request) //nolint:bodyclose // answered closes it
	attempt.Address = trace.dialled()
	switch {
	case err == nil:
		attempt = attempt.answered(response, s.config.Now())
	case ctx.Err() != nil:
		attempt.Failure = FailureCanceled
	default:
		attempt.Failure = trace.failure(err)
	}
	attempt.Duration = time.Since(start)
	return attempt
}

func (s *Sender) request(ctx context.Context, m Message, at time.Time) (*http.Request, Failure) {
	target, err := s.guard.parse(m.URL)
	if err != nil {
		return nil, FailureBlocked
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(m.Body))
	if err != nil {
		return nil, FailureInvalid
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", s.config.UserAgent)
	request.Header.Set("Accept-Encoding", "identity") // a compressed excerpt is of no use to a reader
	request.Header.Set(standardwebhooks.HeaderSequence, strconv.FormatInt(m.Sequence, 10))
	if err := standardwebhooks.Sign(request.Header, m.ID, at, m.Body, m.Secrets...); err != nil {
		return nil, FailureInvalid
	}
	return request, ""
}

// answered adds what is kept of an answer. How the body ends does not matter: the status
// came in time, and it alone decides.
func (a Attempt) answered(response *http.Response, now time.Time) Attempt {
	defer func() { _ = response.Body.Close() }()
	a.Status = response.StatusCode
	a.RetryAfter = retryAfter(response.Header.Get("Retry-After"), now)
	if !a.Delivered() {
		a.Failure = FailureStatus
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		return a // the body is the bare connection, which no deadline ends
	}
	a.Excerpt, _ = io.ReadAll(io.LimitReader(response.Body, excerptLimit))
	return a
}
