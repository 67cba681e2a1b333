package acme

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// cache stores what package autocert needs.
type cache struct{ *Manager }

// Get implements [autocert.Cache]. A certificate that must be renewed is none, so that another one is ordered.
func (c cache) Get(ctx context.Context, name string) ([]byte, error) {
	keys, err := c.store.Keys(ctx)
	value, ok := keys[c.key(name)]
	if err == nil && ok && name == c.domain {
		pair, err := tls.X509KeyPair(value, value)
		ok = err == nil && time.Now().Before(renewal(&pair))
	}
	if err != nil || !ok {
		return nil, autocert.ErrCacheMiss // its text may be in a response
	}
	return value, nil
}

func (c cache) Put(ctx context.Context, name string, value []byte) error {
	return c.store.SetKey(ctx, c.key(name), value)
}

func (c cache) Delete(ctx context.Context, name string) error {
	return c.store.DeleteKey(ctx, c.key(name))
}

// order orders a certificate and stores it. The manager of package autocert would renew it, too, and not say why it
// cannot, so it is for one order only: all its requests end with ctx.
func (m *Manager) order(ctx context.Context) error {
	requests := &requests{ctx: ctx, domain: m.domain}
	one := autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: cache{m},
		RenewBefore: 10 * time.Nanosecond, // never in its time; 0 is the default
		Client: &acme.Client{
			DirectoryURL: m.directory, UserAgent: "studiod", RetryBackoff: retryNonce,
			HTTPClient: &http.Client{Timeout: requestTimeout, Transport: requests},
		},
	}
	one.HTTPHandler(nil) // enables http-01
	// The authority gives certificates with keys of this kind, which all browsers accept.
	_, err := one.GetCertificate(&tls.ClientHelloInfo{ServerName: m.domain, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}})
	if invalid := requests.invalid.Load(); err != nil && invalid != nil {
		err = errors.Join(invalid, err)
	}
	return err
}

// requests sends the requests of an order. It remembers why the authority did not validate the domain, which package
// autocert does not return.
type requests struct {
	ctx     context.Context //nolint:containedctx // package autocert uses one of its own
	domain  string
	invalid atomic.Pointer[acme.AuthorizationError]
}

// maxAnswer is the maximum size of a response in bytes.
const maxAnswer = 1 << 20

// RoundTrip implements [http.RoundTripper].
func (r *requests) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)() //nolint:contextcheck // it ends the request
	response, err := http.DefaultTransport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	content := response.Body                               // which callers replace, too
	context.AfterFunc(ctx, func() { _ = content.Close() }) // that of a 101 does not end with ctx by itself
	body, err := io.ReadAll(io.LimitReader(content, maxAnswer))
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	var authorization struct {
		Status     string `json:"status"`
		Challenges []struct {
			Error struct {
				Detail string `json:"detail"`
			} `json:"error"`
		} `json:"challenges"`
	}
	if json.Unmarshal(body, &authorization) == nil && authorization.Status == acme.StatusInvalid && len(authorization.Challenges) > 0 {
		invalid := &acme.AuthorizationError{URI: request.URL.String(), Identifier: r.domain}
		for _, challenge := range authorization.Challenges {
			if challenge.Error.Detail != "" {
				invalid.Errors = append(invalid.Errors, errors.New(challenge.Error.Detail))
			}
		}
		r.invalid.Store(invalid)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// retryNonce is the backoff of requests. Only a request that the authority rejected because of its nonce is repeated
// at once, because Run retries all others.
func retryNonce(n int, _ *http.Request, response *http.Response) time.Duration {
	if response.StatusCode == http.StatusBadRequest && n <= 5 {
		return 100 * time.Millisecond
	}
	return 0
}

// backoff returns the time until the next attempt after a number of failures.
func backoff(err error, failures int) time.Duration {
	wait := min(minBackoff<<min(failures-1, 20), maxBackoff)
	if _, ok := errors.AsType[*acme.AuthorizationError](err); ok {
		wait = max(wait, validationBackoff)
	}
	if rejected, ok := errors.AsType[*acme.Error](err); ok {
		if after, limited := acme.RateLimit(rejected); limited && after > 0 {
			wait = min(after, maxRateLimit)
		} else if limited {
			wait = maxBackoff
		}
	}
	return max(wait, minBackoff)
}
