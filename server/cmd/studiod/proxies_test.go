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
	logIn := func(client *http.Client, email, forwarded string) int {
		answer, _, err := exchange(t.Context(), client, http.MethodPost, d.url()+"/users/login", credentials(email, "wrong password"), "X-Forwarded-For: "+forwarded)
		check(t, err)
		return answer.StatusCode
	}
	proxy, stranger := from(t, net.IPv4(127, 0, 0, 1)), from(t, net.IPv4(127, 0, 0, 2))
	delayed := func(client *http.Client, email, forwarded string) bool {
		for range 12 {
			if logIn(client, email, forwarded) == http.StatusTooManyRequests {
				return true
			}
		}
		return false
	}
	if !delayed(proxy, "bob@example.com", "203.0.113.9, 198.51.100.7") {
		t.Error("a client of the proxy guesses without end")
	}
	if status := logIn(proxy, "bob@example.com", "198.51.100.7, 198.51.100.8"); status != http.StatusUnauthorized {
		t.Errorf("another client of the proxy is answered %d", status)
	}
	if !delayed(stranger, "eve@example.com", "198.51.100.1") || logIn(stranger, "eve@example.com", "198.51.100.2") != http.StatusTooManyRequests {
		t.Error("a stranger chooses his address")
	}
	for _, client := range []string{"client=198.51.100.7", "client=127.0.0.2"} {
		if !strings.Contains(d.log.String(), client) {
			t.Errorf("the log has no %s", client)
		}
	}
	if strings.Contains(d.log.String(), "203.0.113.9") {
		t.Error("the log names what a client wrote")
	}
}
