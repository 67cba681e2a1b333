package acme

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/acme"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func open(t *testing.T, dsn, authority string) *Manager {
	t.Helper()
	m := harness.Try(New("studio.example.com", authority))(t)
	harness.Check(t, m.Open(t.Context(), studiotest.Open(t, dsn)))
	return m
}

// A claim of a daemon whose clock was ahead, or that an authority delayed for years, does not delay orders.
func TestManager_claim_lapses(t *testing.T) {
	t.Parallel()
	m := open(t, studiotest.NewSQLite(t), "")
	for _, test := range []struct {
		held time.Duration // from now
		want bool
	}{
		{-time.Second, true},
		{time.Hour, false},
		{6 * 24 * time.Hour, false},
		{10 * 365 * 24 * time.Hour, true},
	} {
		harness.Check(t, m.store.SetKey(t.Context(), m.key(m.domain+" claim"), claimUntil(time.Now().Add(test.held))))
		if mine, err := m.claim(t.Context()); (mine != nil) != test.want || err != nil {
			t.Errorf("while another claim is held for %v: %s, %v", test.held, mine, err)
		}
	}
	limited := &acme.Error{ProblemType: "urn:ietf:params:acme:error:rateLimited", Header: http.Header{"Retry-After": {"315360000"}}}
	if wait := backoff(limited, 1); wait != maxRateLimit {
		t.Errorf("after a rate limit of ten years, the backoff is %v", wait)
	}
}

// When a claim has lapsed, one of the daemons that notice it gets the next one.
func TestManager_claim_isOfOneDaemon(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		m := open(t, dsn, "")
		for range 20 {
			harness.Check(t, m.store.SetKey(t.Context(), m.key(m.domain+" claim"), claimUntil(time.Now().Add(-time.Second))))
			var claims atomic.Int64
			var daemons sync.WaitGroup
			for range 8 {
				daemons.Go(func() {
					if mine, err := m.claim(t.Context()); err != nil {
						t.Error(err)
					} else if mine != nil {
						claims.Add(1)
					}
				})
			}
			if daemons.Wait(); claims.Load() != 1 {
				t.Fatalf("%d daemons have a claim", claims.Load())
			}
		}
	})
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
	m := open(t, studiotest.NewSQLite(t), silent.URL)
	if err := m.order(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
