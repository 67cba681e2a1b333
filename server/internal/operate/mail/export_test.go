package mail

import (
	"context"
	"crypto/x509"
	"net"
	"time"
)

// SetServer makes the mailer connect to an address, whatever its URL names, and trust roots.
func (m *Mailer) SetServer(address string, roots *x509.CertPool) {
	m.server.roots = roots
	m.dial = func(ctx context.Context, network, _ string) (net.Conn, error) { return dialTCP(ctx, network, address) }
}

// SetTimes sets the wait between tries and the timeout of one.
func (m *Mailer) SetTimes(wait, timeout time.Duration) {
	for i := range m.waits {
		m.waits[i] = wait
	}
	m.timeout = timeout
}
