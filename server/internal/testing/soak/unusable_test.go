package soak_test

import (
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// While the database is frozen, unreachable, read-only as during maintenance, or without a table as during a restore,
// requests get 503 with Retry-After within a bound. Afterwards the service recovers without a restart.
func TestDatabaseUnusable_causesTimely503AndRecovers(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it waits for timeouts")
	for _, name := range []string{"Paused", "Refused", "ReadOnly", "NoTable"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const maxLatency, callers = time.Minute, 16 // 12 s for each of two statements on an idle machine
			cluster := studiotest.NewCluster(t, "fsync=off")
			d := deploy(t, studiotest.NewSchema(t, cluster.DSN))
			proxy := studiotest.NewProxy(t, d.dsn)
			const origins, subjects = 10, 10 // of 3 events each, as avatars have
			r := receive(d, origins, nil)
			p := d.startOn(proxy.DSN)
			d.login()
			d.seed(subjects, 3, r.urls...)
			r.waitAccepted(origins)

			operator := studiotest.OpenSQL(t, d.dsn+"&default_transaction_read_only=off")
			execute := func(statement string) func() {
				return func() {
					for _, s := range []string{statement, `SELECT pg_reload_conf()`} {
						try(operator.ExecContext(t.Context(), s))(t)
					}
				}
			}
			fault := map[string]struct{ begin, end func() }{
				"Paused": {proxy.Freeze, proxy.Thaw},
				"Refused": { // after a crash
					func() { check(t, cluster.Control("-m immediate stop")) }, func() { check(t, cluster.Control("start")) },
				},
				"ReadOnly": {
					execute(`ALTER SYSTEM SET default_transaction_read_only = on`), execute(`ALTER SYSTEM RESET default_transaction_read_only`),
				},
				"NoTable": {execute(`ALTER TABLE subjects RENAME TO subjects_away`), execute(`ALTER TABLE subjects_away RENAME TO subjects`)},
			}[name]
			fault.begin()
			tries := 0
			harness.Eventually(t, "the failure of a creation", func() bool {
				tries++
				_, err := d.createAvatar(t.Context(), "try-"+strconv.Itoa(tries), r.urls[0])
				return err != nil
			})
			var requests sync.WaitGroup
			for round := range *scale {
				for i := range callers {
					requests.Go(func() {
						began := time.Now()
						var err error
						writes := i%2 == 0
						if writes {
							_, err = d.createAvatar(t.Context(), "away-"+strconv.Itoa(round*callers+i), r.urls[0])
						} else {
							_, err = d.client.GetAvatar(t.Context(), uuid.NewString())
						}
						if isUnavailable(err) != (writes || name != "ReadOnly") {
							t.Errorf("without the database, a request gets %v", err)
						}
						if took := time.Since(began); took > maxLatency {
							t.Errorf("without the database, a request takes %v", took)
						}
					})
				}
				requests.Wait()
			}
			check(t, p.AwaitLog("request failed"))
			fault.end()
			began := time.Now()
			events := d.waitRecovered(r)
			if took := time.Since(began); took > promptly {
				t.Errorf("the service recovers after %v", took)
			}
			check(t, p.Stop())
			r.wantAllDelivered(d, events, maxUnrecorded)
		})
	}
}

// maxRecovery bounds how long deliveries and renderings may pause after a fault of the database. If the answer to a
// claim is lost, its lease has to end. It is shorter than the 30 s after which a daemon finds due work whose
// notification was lost.
const maxRecovery = store.RenderLease + 12*time.Second

// withHost returns a DSN with the host of another one as its second host.
func withHost(t *testing.T, dsn, second string) string {
	t.Helper()
	both := try(url.Parse(dsn))(t)
	other := try(url.Parse(second))(t)
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
			time.Sleep(10 * time.Second)
			first.Thaw()
			second.Thaw()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "FirstHost" {
				harness.SkipShort(t, "one fault shows it")
			}
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
