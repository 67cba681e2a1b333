package soak_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// maxRecovery bounds how long deliveries and renderings may pause after a fault of the database. If the answer to a
// claim is lost, its lease has to end. It is shorter than the 30 s after which a daemon finds due work whose
// notification was lost.
const maxRecovery = store.RenderLease + 12*time.Second

// withHost returns a DSN with the host of another one as its second host.
func withHost(t *testing.T, dsn, second string) string {
	t.Helper()
	both, err := url.Parse(dsn)
	check(t, err)
	other, err := url.Parse(second)
	check(t, err)
	both.Host += "," + other.Host
	return both.String()
}

// Soon after a fault of the network or of a host, events are delivered and avatars are rendered.
func TestDatabaseHangs_deliversSoonAfterwards(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct {
		before, after func(first, second *studiotest.Proxy)
	}{
		"FirstHostFromTheStart": {before: func(first, _ *studiotest.Proxy) { first.Freeze() }},
		"FirstHost":             {after: func(first, _ *studiotest.Proxy) { first.Freeze() }},
		"Connections":           {after: func(first, _ *studiotest.Proxy) { first.Drop() }},
		"BothHostsForTenSeconds": {after: func(first, second *studiotest.Proxy) {
			first.Freeze()
			second.Freeze()
			if !testing.Short() {
				time.Sleep(10 * time.Second)
			}
			first.Thaw()
			second.Thaw()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deploy(t, studiotest.NewPostgres(t))
			first, second := studiotest.NewProxy(t, d.dsn), studiotest.NewProxy(t, d.dsn)
			if fault.before != nil {
				fault.before(first, second)
			}
			const origins = 5
			r := receive(d, origins, nil)
			p := d.startOn(withHost(t, first.DSN, second.DSN))
			d.login()
			all := 0
			wantSoon := func() {
				t.Helper()
				began := time.Now()
				d.seed(2, 2, r.urls...)
				all += 4 * origins
				r.waitAccepted(all)
				harness.Eventually(t, "a creation", func() bool {
					_, err := d.createAvatar(t.Context(), name+fmt.Sprint(all), r.urls[0])
					return err == nil
				})
				all += 3
				r.waitAccepted(all)
				if took := time.Since(began); took > maxRecovery {
					t.Errorf("the events are delivered, and an avatar is rendered, after %v", took)
				}
			}
			wantSoon()
			if fault.after != nil {
				fault.after(first, second)
				wantSoon()
			}
			check(t, p.Stop())
			r.wantAllDelivered(d, all, maxUnrecorded)
		})
	}
}
