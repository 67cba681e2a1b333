package acme

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/crypto/acme"
)

// order returns a new key and its certificate chain as PEM.
func (m *Manager) order(ctx context.Context) ([]byte, error) {
	if _, err := m.client.Register(ctx, new(acme.Account), acme.AcceptTOS); err != nil && !errors.Is(err, acme.ErrAccountAlreadyExists) {
		return nil, err
	}
	order, err := m.authorize(ctx, "http-01") // any daemon can respond to it
	if _, unreachable := errors.AsType[*acme.AuthorizationError](err); unreachable {
		var alsoALPN error
		if order, alsoALPN = m.authorize(ctx, "tls-alpn-01"); alsoALPN != nil {
			return nil, errors.Join(alsoALPN, err)
		}
		err = nil
	}
	if err != nil {
		return nil, err
	}
	der := newKey()
	key, err := x509.ParseECPrivateKey(der)
	if err != nil {
		return nil, err
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{m.domain}}, key)
	if err != nil {
		return nil, err
	}
	chain, _, err := m.client.CreateCertFromOrder(ctx, order, csr, true)
	if err != nil {
		return nil, err
	}
	result := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	for _, certificate := range chain {
		result = append(result, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})...)
	}
	pair, err := tls.X509KeyPair(result, result)
	if err == nil {
		err = pair.Leaf.VerifyHostname(m.domain)
	}
	return result, err
}

// authorize returns an order that is ready, after the authority has validated the domain with a kind of challenge.
func (m *Manager) authorize(ctx context.Context, kind string) (*acme.Order, error) {
	order, err := m.client.AuthorizeOrder(ctx, acme.DomainIDs(m.domain))
	if err != nil {
		return nil, err
	}
	for _, url := range order.AuthzURLs {
		if err := m.validate(ctx, url, kind); err != nil {
			return nil, err
		}
	}
	return m.client.WaitOrder(ctx, order.URI)
}

func (m *Manager) validate(ctx context.Context, url, kind string) error {
	authorization, err := m.client.GetAuthorization(ctx, url)
	if err != nil || authorization.Status == acme.StatusValid {
		return err
	}
	for _, challenge := range authorization.Challenges {
		if challenge.Type != kind {
			continue
		}
		if kind == "tls-alpn-01" {
			certificate, err := m.client.TLSALPN01ChallengeCert(challenge.Token, m.domain)
			if err != nil {
				return err
			}
			m.challenge.Store(&certificate)
			defer m.challenge.Store(nil)
		}
		if _, err := m.client.Accept(ctx, challenge); err != nil {
			return err
		}
		_, err = m.client.WaitAuthorization(ctx, url)
		return err
	}
	return fmt.Errorf("the authority offers no challenge %s", kind)
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
