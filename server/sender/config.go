package sender

import (
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

	// Timeout limits the whole attempt: DNS lookup, connect, TLS handshake, headers and body. Within it, DNS lookup and
	// connect take at most 5 seconds, and so does the handshake. Defaults to 15 seconds.
	Timeout time.Duration

	// Resolver resolves host names. Defaults to [net.DefaultResolver].
	Resolver *net.Resolver

	// RootCAs are the certificate authorities trusted for https. Defaults to those of the system.
	RootCAs *x509.CertPool
}

func (c Config) validate() error {
	if c.Timeout < 0 {
		return errors.New("sender: the timeout is negative")
	}
	for _, network := range c.AllowNetworks {
		// Addresses are unmapped before they are checked, so a mapped range would never match.
		if !network.IsValid() || network.Addr().Is4In6() {
			return errors.New("sender: an allowed network is invalid or IPv4 mapped into IPv6")
		}
	}
	return nil
}
