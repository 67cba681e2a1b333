package sender

import (
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Config holds the settings of a [Sender]. The zero value works.
type Config struct {
	// AllowHTTP accepts http URLs too. Defaults to https alone.
	AllowHTTP bool

	// AllowNetworks opens ranges besides public addresses. Defaults to none.
	AllowNetworks []netip.Prefix

	// Timeout is the one deadline of an attempt, over name look-up, connect, TLS,
	// headers and body. Defaults to 15 s.
	Timeout time.Duration

	// ConnectTimeout bounds name look-up and connect within Timeout. Defaults to 5 s.
	ConnectTimeout time.Duration

	// TLSTimeout bounds the TLS handshake within Timeout. Defaults to 5 s.
	TLSTimeout time.Duration

	// MaxIdlePerHost is the number of connections to one host kept open between
	// attempts, for 4 s at most. It limits no attempt. Defaults to 4.
	MaxIdlePerHost int

	// Resolver looks up host names. Defaults to [net.DefaultResolver].
	Resolver *net.Resolver

	// RootCAs are the authorities trusted for https. Defaults to the system's.
	RootCAs *x509.CertPool

	// UserAgent defaults to "Avatar-Studio-Webhooks/1".
	UserAgent string

	// Now gives the time of a signature. Defaults to [time.Now].
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	setDefault(&c.Timeout, 15*time.Second)
	setDefault(&c.ConnectTimeout, 5*time.Second)
	setDefault(&c.TLSTimeout, 5*time.Second)
	setDefault(&c.MaxIdlePerHost, 4)
	setDefault(&c.UserAgent, "Avatar-Studio-Webhooks/1")
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c Config) validate() error {
	if c.Timeout < 0 || c.ConnectTimeout < 0 || c.TLSTimeout < 0 || c.MaxIdlePerHost < 0 {
		return errors.New("sender: a timeout or limit is negative")
	}
	for _, network := range c.AllowNetworks {
		// Addresses are judged unmapped, so a mapped range would never match.
		if !network.IsValid() || network.Addr().Is4In6() {
			return errors.New("sender: an allowed network is invalid or IPv4 mapped into IPv6")
		}
	}
	if !httpguts.ValidHeaderFieldValue(c.UserAgent) {
		return errors.New("sender: the user agent is not a header value")
	}
	return nil
}
