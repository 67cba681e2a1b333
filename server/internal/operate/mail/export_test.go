package mail

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"time"
)

// SetServer makes the mailer connect to an address and trust roots, whatever host its URL names. The port of the URL
// must be port.
func (m *Mailer) SetServer(address, port string, roots *x509.CertPool) {
	m.server.roots = roots
	m.dial = func(ctx context.Context, network, named string) (net.Conn, error) {
		if !strings.HasSuffix(named, ":"+port) {
			return nil, errors.New(named + " has another port")
		}
		return dialTCP(ctx, network, address)
	}
}

// SetTimes sets the wait between tries and the timeout of one.
func (m *Mailer) SetTimes(wait, timeout time.Duration) {
	for i := range m.waits {
		m.waits[i] = wait
	}
	m.timeout = timeout
}
