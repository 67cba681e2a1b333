// Package sender delivers webhook events. Each attempt sends one event in one signed request to an address
// that the guard permits. Ordering, retries, backoff and limits per receiver are the responsibility of the
// caller.
//
// Users provide the URLs of receivers, so a URL may point anywhere and the response may be hostile. The guard
// checks a URL when it is registered ([Sender.CanonicalURL]) and each address before it is dialed; see
// [Config.AllowNetworks]. Send follows no redirects, uses no proxy and does not decompress responses. It
// reads at most 16 KiB of headers and 4 KiB of body, within a single deadline.
package sender

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/standardwebhooks"
)

const (
	userAgent = "Avatar-Studio-Webhooks/1"

	headerLimit      = 16 << 10 // a header of a few bytes takes 100 bytes more, and a receiver may never end them
	fetchHeaderLimit = 64 << 10
	excerptLimit     = 4 << 10
	// readBuffer bounds the bytes that the kernel accepts from a receiver before an attempt reads them. With
	// the default, each attempt at a receiver that floods may cost megabytes.
	readBuffer = 16 << 10

	// maxIdle bounds the idle connections to all hosts, and to each: with a lower bound for a host, a burst to it would
	// open most of its connections again for the next one.
	maxIdle = 1024
	// Common servers close an idle connection after 5 seconds. Closing it earlier avoids sending a request on
	// a connection that the receiver is closing.
	idleTimeout = 4 * time.Second
)

// Sender sends webhook events. It is safe for concurrent use, and reuses connections between attempts to the
// same host. It uses HTTP/1.1 only: with one attempt per connection, attempts do not delay each other, and
// the transport resends nothing.
type Sender struct {
	config   Config
	guard    *guard
	attempts *http.Transport
	fetches  *http.Transport // with receive buffers for large files
}

// New returns a Sender. It returns an error if cfg has a negative value, an invalid network or one of IPv4
// addresses mapped into IPv6.
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
	s := &Sender{config: cfg, guard: guard}
	s.fetches = &http.Transport{
		Proxy:                  nil, // not even from the environment: a proxy would dial addresses that the guard has not checked
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: cfg.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    cfg.TLSTimeout,
		DisableCompression:     true,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: fetchHeaderLimit,
		Protocols:              protocols,
	}
	s.attempts = s.fetches.Clone()
	s.attempts.MaxResponseHeaderBytes = headerLimit
	s.attempts.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(readBuffer) // larger buffers only increase the cost of floods
		}
		return conn, err
	}
	return s, nil
}

// Close closes idle connections. It does not interrupt attempts. The Sender can still be used.
func (s *Sender) Close() {
	s.attempts.CloseIdleConnections()
	s.fetches.CloseIdleConnections()
}

// CanonicalURL checks a URL as each attempt does. It returns the URL that attempts use, in the form of
// [weburl.Parse], in which URLs of the same receiver have the same scheme, host and port.
//
// CanonicalURL does not resolve names. The address of an accepted host name may still be blocked when it is
// dialed. The error is a [*RefusedError].
func (s *Sender) CanonicalURL(raw string) (string, error) {
	u, err := s.guard.parse(raw)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// Message is one event to send to one receiver.
type Message struct {
	URL      string
	ID       string // the same in all attempts
	Sequence int64  // position in the events of its subject
	Body     []byte // JSON, the same bytes in all attempts
	Secrets  []standardwebhooks.Secret
	// TraceParent is the traceparent header (W3C Trace Context), which is not checked and not signed. If empty, the
	// header is not sent.
	TraceParent string
}

// Send makes one attempt to deliver m: a POST request that is signed with the current time. It returns when
// it has read the response body, up to 4 KiB, and no later than the deadline. The connection is reused only
// if the body has ended by then.
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
	response, err := s.attempts.RoundTrip(request) //nolint:bodyclose // withResponse closes it
	attempt.Address = trace.dialed()
	switch {
	case err == nil:
		attempt = attempt.withResponse(response, s.config.Now())
	case ctx.Err() != nil:
		attempt.Failure = FailureCanceled
	default:
		attempt.Failure, attempt.NotPublic = trace.failure(err), errors.Is(err, errNotPublic)
	}
	attempt.Duration = time.Since(start)
	return attempt
}

func (s *Sender) request(ctx context.Context, m Message, at time.Time) (*http.Request, Failure) {
	request, err := s.newRequest(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return nil, FailureBlocked
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(standardwebhooks.HeaderSequence, strconv.FormatInt(m.Sequence, 10))
	if m.TraceParent != "" {
		request.Header.Set("Traceparent", m.TraceParent)
	}
	if err := standardwebhooks.Sign(request.Header, m.ID, at, m.Body, m.Secrets...); err != nil {
		return nil, FailureInvalid
	}
	return request, ""
}

// newRequest returns a request to a URL that the guard permits.
func (s *Sender) newRequest(ctx context.Context, method, rawURL string, body io.Reader) (*http.Request, error) {
	target, err := s.guard.parse(rawURL)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, "", body)
	if err != nil {
		return nil, err
	}
	request.URL, request.Host = target, target.Host
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept-Encoding", "identity") // a compressed excerpt would not be readable
	return request, nil
}

// withResponse returns a with the results of the response. Errors while reading the body are ignored, because
// the status was received in time and is decisive.
func (a Attempt) withResponse(response *http.Response, now time.Time) Attempt {
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode < http.StatusContinue { // which net/http lets through
		a.Failure = FailureProtocol
		return a
	}
	a.Status = response.StatusCode
	a.RetryAfter = retryAfter(response.Header.Get("Retry-After"), now)
	if !a.Delivered() {
		a.Failure = FailureStatus
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		return a // the body is the raw connection, which has no deadline
	}
	a.Excerpt, _ = io.ReadAll(io.LimitReader(response.Body, excerptLimit))
	return a
}
