// Package acme gets and renews the certificate of a domain from a certificate authority (ACME, RFC 8555).
//
// Package autocert orders it, but in the background, not in a handshake. So no client can cause a request to the
// authority, and every failure is logged with the time of the next attempt. The database has the account, the
// certificate, the responses to challenges and the time of the next attempt, so that a restart orders nothing, and all
// daemons on a database share one certificate and respond to the challenges of each other.
package acme

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
	"golang.org/x/net/idna"

	"github.com/avatarstudio/avatarstudio/server/internal/operate/httpserver"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// LetsEncrypt is the directory of the default authority.
const LetsEncrypt = acme.LetsEncryptURL

const (
	keyPrefix      = "acme "          // of the names of all keys
	requestTimeout = 30 * time.Second // of a request to the authority
	orderTimeout   = 2 * time.Minute  // of all requests for a certificate
	checkInterval  = time.Hour        // limits the effect of a clock that is set
	claimInterval  = 5 * time.Second  // between looks at the order of another daemon
	minBackoff     = 5 * time.Second
	maxRateLimit   = 7 * 24 * time.Hour // that of Let's Encrypt; a later time in a claim is of a clock that was wrong
	maxBackoff     = time.Hour
	// validationBackoff is the minimum backoff after the authority did not reach this server. Let's Encrypt allows 5
	// failed validations in an hour.
	validationBackoff = 5 * time.Minute
)

var errTooOld = errors.New("the new certificate is already due for renewal; check the clock")

// Manager has the certificate of a domain.
type Manager struct {
	domain, directory string
	store             *store.Store
	answers           autocert.Manager // responds to challenges that are in the database, and orders nothing
	challenges        http.Handler     // of answers

	current atomic.Pointer[tls.Certificate]
	retry   atomic.Pointer[time.Time] // of the next attempt after a failure
}

// New returns the manager of a domain. The directory is the URL of the authority, by default LetsEncrypt.
// [Manager.Open] must be called before Run.
func New(domain, directory string) (*Manager, error) {
	name, err := idna.Lookup.ToASCII(domain)
	if _, notIP := netip.ParseAddr(name); err != nil || notIP == nil || !strings.Contains(strings.Trim(name, "."), ".") || strings.HasSuffix(name, ".") {
		return nil, errors.New("the domain must be a name such as studio.example.com")
	}
	return &Manager{domain: name, directory: cmp.Or(directory, LetsEncrypt)}, nil
}

// Open reads the certificate.
func (m *Manager) Open(ctx context.Context, db *store.Store) error {
	m.store = db
	m.answers.Cache = cache{m}
	m.challenges = m.answers.HTTPHandler(http.NotFoundHandler())
	_, err := m.load(ctx)
	return err
}

// key returns the name of a key. Certificates of a test authority are not used for another.
func (m *Manager) key(name string) string { return keyPrefix + m.directory + " " + name }

// load uses the stored certificate. It reports whether that changed.
func (m *Manager) load(ctx context.Context) (changed bool, err error) {
	keys, err := m.store.Keys(ctx)
	if err != nil {
		return false, err
	}
	stored := keys[m.key(m.domain)]
	if stored == nil {
		return false, nil
	}
	pair, err := tls.X509KeyPair(stored, stored)
	if err != nil {
		return false, err
	}
	old := m.current.Swap(&pair)
	return old == nil || !bytes.Equal(old.Certificate[0], pair.Certificate[0]), nil
}

// Expires returns when the certificate expires, or the zero time if there is none.
func (m *Manager) Expires() time.Time {
	if current := m.current.Load(); current != nil {
		return current.Leaf.NotAfter
	}
	return time.Time{}
}

// Retry returns the time of the next attempt after a failure, or the zero time.
func (m *Manager) Retry() time.Time {
	if retry := m.retry.Load(); retry != nil {
		return *retry
	}
	return time.Time{}
}

// renewal returns when the certificate is renewed: in the last third of its time.
func (m *Manager) renewal() time.Time {
	if current := m.current.Load(); current != nil {
		return renewal(current)
	}
	return time.Time{}
}

func renewal(certificate *tls.Certificate) time.Time {
	leaf := certificate.Leaf
	return leaf.NotAfter.Add(-leaf.NotAfter.Sub(leaf.NotBefore) / 3)
}

// Run gets and renews the certificate until ctx ends. The server must already respond to challenges.
func (m *Manager) Run(ctx context.Context, logger *slog.Logger) {
	logger = logger.With("domain", m.domain)
	for failures := 0; ctx.Err() == nil; {
		wait := time.Until(m.renewal())
		if wait <= 0 {
			changed, claimed, err := m.renew(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				failures++
				wait = backoff(err, failures)
				next := time.Now().Add(wait)
				m.retry.Store(&next)
				logger.WarnContext(ctx, "certificate not renewed", "err", err, "expires", m.Expires(), "next_attempt", next)
				if claimed { // also of other daemons, and after a restart
					if err := m.store.SetKey(ctx, m.key(m.domain+" claim"), claimUntil(next)); err != nil {
						logger.WarnContext(ctx, "time of the next attempt not stored", "err", err)
					}
				}
			case changed:
				failures = 0
				m.retry.Store(nil)
				logger.InfoContext(ctx, "certificate renewed", "expires", m.Expires())
				continue
			default:
				wait = claimInterval
			}
		}
		studio.Pause(ctx, min(wait, checkInterval))
	}
}

func claimUntil(until time.Time) []byte { return until.AppendFormat(nil, time.RFC3339Nano) }

// claim returns the claim of this daemon if it may order a certificate. Otherwise another one is doing so, or an
// attempt has failed recently. The claim of a daemon that was killed lapses.
func (m *Manager) claim(ctx context.Context) (mine []byte, err error) {
	for {
		mine = claimUntil(time.Now().Add(orderTimeout))
		held, err := m.store.Key(ctx, m.key(m.domain+" claim"), func() []byte { return mine })
		if err != nil {
			return nil, err
		}
		if bytes.Equal(held, mine) {
			return mine, nil
		}
		if until, err := time.Parse(time.RFC3339Nano, string(held)); err == nil && time.Until(until) > 0 && time.Until(until) <= maxRateLimit {
			m.retry.Store(&until)
			return nil, nil
		}
		if err := m.store.ReleaseKey(ctx, m.key(m.domain+" claim"), held); err != nil { // unless another daemon has a new one
			return nil, err
		}
	}
}

// renew uses the certificate of another daemon, or orders one unless another daemon does so or an attempt has failed
// recently. It reports whether the certificate changed, and whether this daemon ordered it.
func (m *Manager) renew(ctx context.Context) (changed, claimed bool, err error) {
	if changed, err = m.load(ctx); err != nil || changed {
		return changed, false, err
	}
	mine, err := m.claim(ctx)
	if mine == nil {
		return false, false, err
	}
	bound, cancel := context.WithTimeout(ctx, orderTimeout)
	defer cancel()
	err = m.order(bound)
	if err == nil {
		changed, err = m.load(bound)
	}
	if err == nil && time.Now().After(m.renewal()) {
		err = errTooOld
	}
	if err == nil || ctx.Err() != nil {
		err = errors.Join(err, m.store.ReleaseKey(context.WithoutCancel(ctx), m.key(m.domain+" claim"), mine))
	}
	return changed, true, err
}

// Config returns a TLS configuration like that of [httpserver.Certificate].
func (m *Manager) Config() *tls.Config {
	cfg := httpserver.TLSConfig(m.certificate)
	cfg.NextProtos = append(cfg.NextProtos, acme.ALPNProto)
	return cfg
}

// certificate is the GetCertificate function of the TLS configuration.
func (m *Manager) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if !strings.EqualFold(strings.TrimSuffix(hello.ServerName, "."), m.domain) {
		return nil, errNoCertificate
	}
	if len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == acme.ALPNProto {
		return m.answers.GetCertificate(hello)
	}
	if current := m.current.Load(); current != nil {
		return current, nil
	}
	return nil, errNoCertificate
}

var errNoCertificate = errors.New("no certificate for this name")

// ChallengePath is where Challenge responds to the authority.
const ChallengePath = "/.well-known/acme-challenge/{token}"

// Challenge responds to http-01 challenges.
func (m *Manager) Challenge(w http.ResponseWriter, r *http.Request) { m.challenges.ServeHTTP(w, r) }
