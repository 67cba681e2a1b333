package main

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// Guesses from one client of a trusted proxy do not delay its other clients, and a forged X-Forwarded-For
// has no effect.
func TestDaemon_loginLimitsUseForwardedAddress(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, func(cfg *daemonConfig) {
		cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		cfg.Listener.MaxConnectionsPerAddress = 1
	})
	proxy, stranger := from(t, net.IPv4(127, 0, 0, 1)), from(t, net.IPv4(127, 0, 0, 2))
	for _, step := range []struct {
		client           *http.Client
		email, forwarded string
		guesses, want    int
	}{
		{proxy, "bob@example.com", "203.0.113.9, 198.51.100.7", 12, http.StatusTooManyRequests},
		{proxy, "bob@example.com", "198.51.100.7, 198.51.100.8", 1, http.StatusUnauthorized},
		{stranger, "eve@example.com", "198.51.100.1", 12, http.StatusTooManyRequests},
		{stranger, "eve@example.com", "198.51.100.2", 1, http.StatusTooManyRequests},
	} {
		status := 0
		for i := 0; i < step.guesses && status != http.StatusTooManyRequests; i++ {
			answer, _, err := exchange(t.Context(), step.client, http.MethodPost, d.url()+"/users/login", credentials(step.email, "wrong password"), "X-Forwarded-For: "+step.forwarded)
			check(t, err)
			status = answer.StatusCode
		}
		if status != step.want {
			t.Errorf("a client at %s is answered %d, want %d", step.forwarded, status, step.want)
		}
	}
	if log := d.log.String(); !strings.Contains(log, "client=198.51.100.7") || !strings.Contains(log, "client=127.0.0.2") || strings.Contains(log, "203.0.113.9") {
		t.Errorf("the log names other addresses: %s", log)
	}
}
