package sender

import (
	"context"
	"net"
)

// Dial checks an address as the dialer does.
func (s *Sender) Dial(address string) error {
	return s.guard.control(context.Background(), "tcp", address, nil)
}

// DialWith replaces the dialer and its check of addresses.
func (s *Sender) DialWith(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	s.attempts.DialContext = dial
}

// RetryAfter parses a Retry-After header.
var RetryAfter = retryAfter
