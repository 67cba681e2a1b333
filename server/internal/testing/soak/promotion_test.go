package soak_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// startPair starts a primary and a synchronous standby.
func startPair(t *testing.T) (primary, standby *studiotest.Cluster) {
	t.Helper()
	primary = studiotest.NewCluster(t, "fsync=off")
	standby = try(primary.StartStandby("fsync=off"))(t)
	t.Cleanup(func() { check(t, standby.Close()) })
	db := studiotest.OpenSQL(t, primary.DSN)
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		try(db.ExecContext(t.Context(), statement))(t)
	}
	return primary, standby
}

// acknowledged contains creations that succeeded. Their callers repeat them with the same key until they do.
type acknowledged struct {
	ids               sync.Map
	succeeded, failed atomic.Int64
}

// The standby of a synchronous pair is promoted. Creations that succeeded are not lost, also those whose first answer
// was an error because their commit was not replicated. No event was sent that the promotion has lost.
func TestPromotion_losesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it starts pairs of clusters")
	const callers = 12
	for name, hangs := range map[string]bool{"PrimaryHangs": true, "PrimaryDiesAfterItsStandby": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary, standby := startPair(t)
			proxy := studiotest.NewProxy(t, primary.DSN)
			d := deploy(t, withHost(t, proxy.DSN, studiotest.NewProxy(t, standby.DSN).DSN))
			r := receive(d, 10, nil)
			p := d.start()
			d.login()
			a := new(acknowledged)
			stop := d.createAvatars(callers, r.urls, func(_ time.Time, avatar *gen.Avatar, err error) bool {
				if err != nil {
					a.failed.Add(1)
					return true
				}
				a.ids.Store(avatar.AvatarID, nil)
				a.succeeded.Add(1)
				return true
			})
			defer stop()
			waitForMore := func(what string) {
				t.Helper()
				n := a.succeeded.Load() + 3*callers
				harness.Eventually(t, what, func() bool { return a.succeeded.Load() >= n })
			}
			waitForMore("creations with a standby")
			if hangs {
				proxy.Freeze()
			} else {
				check(t, standby.Control("-m immediate stop"))
				harness.Eventually(t, "creations fail", func() bool { return a.failed.Load() >= callers })
				db := studiotest.OpenSQL(t, primary.DSN)
				harness.Eventually(t, "creations and their retries fail", func() bool {
					// An operator ends the waits.
					_, err := db.ExecContext(t.Context(), "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
					check(t, err)
					return a.failed.Load() >= 3*callers
				})
				check(t, primary.Control("-m immediate stop"))
				check(t, standby.Control("start"))
			}
			check(t, standby.Control("promote"))
			promoted := time.Now()
			waitForMore("creations after the promotion")
			stop()

			db := studiotest.OpenSQL(t, standby.DSN)
			var found, all int
			a.ids.Range(func(id, _ any) bool {
				var one int
				check(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM subjects WHERE id = $1", id).Scan(&one))
				found += one
				return true
			})
			if n := int(a.succeeded.Load()); found != n {
				t.Errorf("%d of %d acknowledged creations are lost", n-found, n)
			}
			harness.Eventually(t, "every event is delivered", func() bool {
				var waiting int
				check(t, db.QueryRowContext(t.Context(), "SELECT (SELECT count(*) FROM renderings) + (SELECT count(*) FROM deliveries)").Scan(&waiting))
				return waiting == 0
			})
			if took := time.Since(promoted); took > maxRecovery {
				t.Errorf("the events are delivered %v after the promotion", took)
			}
			check(t, p.Stop())
			check(t, db.QueryRowContext(t.Context(), "SELECT 3 * count(*) FROM subjects").Scan(&all))
			d.dsn = standby.DSN
			r.wantAllDelivered(d, all, all)
		})
	}
}
