package acme

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"golang.org/x/crypto/acme"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A claim of a daemon whose clock was ahead, or that an authority delayed for years, does not delay orders.
func TestManager_claim_lapses(t *testing.T) {
	t.Parallel()
	db := studiotest.Open(t, studiotest.NewSQLite(t))
	m, err := New("studio.example.com", "")
	harness.Check(t, err)
	harness.Check(t, m.Open(t.Context(), db))
	for _, test := range []struct {
		held time.Duration // from now
		want bool
	}{
		{-time.Second, true},
		{time.Hour, false},
		{6 * 24 * time.Hour, false},
		{10 * 365 * 24 * time.Hour, true},
	} {
		harness.Check(t, db.SetKey(t.Context(), m.key(m.domain+" claim"), claimUntil(time.Now().Add(test.held))))
		if mine, err := m.claim(t.Context()); (mine != nil) != test.want || err != nil {
			t.Errorf("while another claim is held for %v: %s, %v", test.held, mine, err)
		}
	}
	limited := &acme.Error{ProblemType: "urn:ietf:params:acme:error:rateLimited", Header: http.Header{"Retry-After": {"315360000"}}}
	if wait := backoff(limited, 1); wait != maxRateLimit {
		t.Errorf("after a rate limit of ten years, the backoff is %v", wait)
	}
}

// A daemon that stops does not wait for the authority.
func TestManager_order_endsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer silent.Close()
	m, err := New("studio.example.com", silent.URL)
	harness.Check(t, err)
	harness.Check(t, m.Open(t.Context(), studiotest.Open(t, studiotest.NewSQLite(t))))
	if err := m.order(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
