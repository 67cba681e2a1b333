package sender

import (
	"context"
	"net"
)

// Dial judges the address of a connection as the dialler does.
func (s *Sender) Dial(address string) error {
	return s.guard.control(context.Background(), "tcp", address, nil)
}

// DialWith replaces the dialler, and with it the guard of addresses.
func (s *Sender) DialWith(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	s.transport.DialContext = dial
}

// RetryAfter reads a Retry-After header.
var RetryAfter = retryAfter
