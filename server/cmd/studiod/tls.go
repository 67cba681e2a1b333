package main

import (
	"fmt"
	"net/http"
	"time"
)

// strictTransportAge is how long browsers use only https after a response.
const strictTransportAge = 365 * 24 * time.Hour

// withStrictTransport makes browsers use only https for the host of a request (HSTS, RFC 6797). Without it, the first
// request of a visit may be plain http, which anyone on the way can change.
func withStrictTransport(next http.Handler) http.Handler {
	value := fmt.Sprintf("max-age=%.0f", strictTransportAge.Seconds())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", value)
		next.ServeHTTP(w, r)
	})
}
