package sender

import (
	"cmp"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"time"
)

// Config configures a [Sender]. The zero value is valid.
type Config struct {
	// AllowHTTP allows http URLs in addition to https.
	AllowHTTP bool

	// AllowNetworks allows address ranges that the guard would block. Empty by default.
	AllowNetworks []netip.Prefix

	// Timeout limits the whole attempt: DNS lookup, connect, TLS handshake, headers and body. Defaults to 15
	// seconds.
	Timeout time.Duration

	// ConnectTimeout limits DNS lookup and connect, within Timeout. Addresses of a name are tried one after the other.
	// One that does not answer takes 2 seconds or more, so that three of them hide a fourth. Defaults to 5 seconds.
	ConnectTimeout time.Duration

	// TLSTimeout limits the TLS handshake, within Timeout. Defaults to 5 seconds.
	TLSTimeout time.Duration

	// Resolver resolves host names. Defaults to [net.DefaultResolver].
	Resolver *net.Resolver

	// RootCAs are the certificate authorities trusted for https. Defaults to those of the system.
	RootCAs *x509.CertPool

	// Now returns the time of the signature. Defaults to [time.Now].
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 15*time.Second)
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 5*time.Second)
	c.TLSTimeout = cmp.Or(c.TLSTimeout, 5*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

func (c Config) validate() error {
	if c.Timeout < 0 || c.ConnectTimeout < 0 || c.TLSTimeout < 0 {
		return errors.New("sender: a timeout is negative")
	}
	for _, network := range c.AllowNetworks {
		// Addresses are unmapped before they are checked, so a mapped range would never match.
		if !network.IsValid() || network.Addr().Is4In6() {
			return errors.New("sender: an allowed network is invalid or IPv4 mapped into IPv6")
		}
	}
	return nil
}
