package main

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// A user over the rate limit gets 429 with Retry-After, and other classes of operations are not affected.
func TestDaemon_limitsRequestRate(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.UserRate = 1 })
	home := from(t, net.IPv4(127, 0, 0, 1))
	_, token := tryLogin(t.Context(), home, d.url(), testEmail, testPassword)
	began, refused := time.Now(), false
	for !refused && time.Since(began) < harness.Timeout { // one is admitted per second
		answer := call(t, home, http.MethodPost, d.url(), token)
		if refused = answer.StatusCode == http.StatusTooManyRequests; refused {
			for name, want := range map[string]string{"Retry-After": "1", "RateLimit": `"creations";r=0;t=1`, "RateLimit-Policy": `"creations";q=1;w=1`} {
				if got := answer.Header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		}
	}
	if !refused {
		t.Error("no creation is refused")
	}
	if answer := call(t, home, http.MethodGet, d.url(), token); answer.StatusCode != http.StatusOK {
		t.Errorf("a list is answered %d", answer.StatusCode)
	}
}
