package soak_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// execute returns a function that executes a statement on its connection to a database, and reloads the settings.
func execute(t *testing.T, dsn, statement string) (do func(statement string)) {
	t.Helper()
	operator, err := studiotest.OpenSQL(t, dsn).Conn(t.Context())
	check(t, err)
	t.Cleanup(func() { check(t, operator.Close()) })
	do = func(statement string) {
		for _, s := range []string{statement, `SELECT pg_reload_conf()`} {
			_, err := operator.ExecContext(t.Context(), s)
			check(t, err)
		}
	}
	do(statement)
	return do
}

// While the database is frozen, unreachable, read-only as during maintenance, or without a table as during a restore,
// requests get 503 with Retry-After within a bound. Afterwards the service recovers without a restart.
func TestDatabaseUnusable_causesTimely503AndRecovers(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it waits for timeouts")
	type fault = func(*testing.T, *deployment, *studiotest.Cluster, *studiotest.Proxy) (repair func())
	for name, fail := range map[string]fault{
		"Paused": func(_ *testing.T, _ *deployment, _ *studiotest.Cluster, proxy *studiotest.Proxy) func() {
			proxy.Freeze()
			return proxy.Thaw
		},
		"Refused": func(t *testing.T, _ *deployment, cluster *studiotest.Cluster, _ *studiotest.Proxy) func() {
			t.Helper()
			check(t, cluster.Control("-m immediate stop")) // a crash
			return func() { check(t, cluster.Control("start")) }
		},
		"ReadOnly": func(t *testing.T, d *deployment, _ *studiotest.Cluster, _ *studiotest.Proxy) func() {
			t.Helper()
			do := execute(t, d.dsn, `SET default_transaction_read_only = off`)
			do(`ALTER SYSTEM SET default_transaction_read_only = on`)
			return func() { do(`ALTER SYSTEM RESET default_transaction_read_only`) }
		},
		"NoTable": func(t *testing.T, d *deployment, _ *studiotest.Cluster, _ *studiotest.Proxy) func() {
			t.Helper()
			do := execute(t, d.dsn, `ALTER TABLE subjects RENAME TO subjects_away`)
			return func() { do(`ALTER TABLE subjects_away RENAME TO subjects`) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const maxLatency, callers = 25 * time.Second, 16 // 12 s on an idle machine, soon after the fault
			cluster := studiotest.NewCluster(t, "fsync=off")
			d := deploy(t, studiotest.NewSchema(t, cluster.DSN))
			proxy := studiotest.NewProxy(t, d.dsn)
			const origins, subjects = 10, 10 // of 3 events each, as avatars have
			r := receive(d, origins, nil)
			p := d.startOn(proxy.DSN)
			d.login()
			d.seed(subjects, 3, r.urls...)
			r.waitAccepted(origins)

			repair := fail(t, d, cluster, proxy)
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
			repair()
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
