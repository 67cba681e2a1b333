package soak_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// evenLanes is logged by each of two daemons once they share the lanes evenly.
const evenLanes = "lanes=128"

// promptly bounds what takes a few seconds on an idle machine. It is shorter than the 30 s after which a daemon finds
// due work whose notification was lost.
const promptly = 25 * time.Second

// Two daemons share the deliveries, and duplicate none. Then one is killed or frozen with as many attempts in flight as
// possible. Meanwhile the other one delivers new events promptly. A frozen one continues later. Afterwards both are
// idle, and it has overwritten no results.
func TestTwoDaemons_deliverPromptlyWithoutOne(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it waits for the end of leases")
	freezes := map[string]int{"frozen with 8 workers": 8, "killed": 0}
	if *scale > 1 {
		freezes["frozen with 4 workers"], freezes["frozen with 64 workers"] = 4, 64
	}
	for name, workers := range freezes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const origins, probes = 32, 20                      // so many that each daemon has healthy ones
			const idleWindow, idleCommits = 3 * time.Second, 50 // per second
			freezes, workers := workers > 0, cmp.Or(workers, 8)
			cluster := studiotest.NewCluster(t, "fsync=off")
			d := deploy(t, studiotest.NewSchema(t, cluster.DSN))
			answer, release := d.blockingAnswer(0)
			r := receive(d, origins, func(a arrival) int {
				if a.receiver < origins/2 {
					return answer(a)
				}
				return 204
			})
			first, second := d.start("--delivery-workers", strconv.Itoa(workers)), d.start("--delivery-workers", strconv.Itoa(workers))
			check(t, first.AwaitLog(evenLanes))
			check(t, second.AwaitLog(evenLanes))
			var waits []time.Duration
			all := 0
			probe := func(name string) {
				t.Helper()
				for i := range probes {
					began := time.Now()
					avatar, err := d.createAvatar(t.Context(), fmt.Sprintf("%s-%d", name, i), r.urls[origins/2+i%(origins/2)])
					check(t, err)
					all += 3
					r.wait("the events of an avatar", func() bool {
						s := r.subjects[avatar.AvatarID]
						return s != nil && len(s.events) == 3 && s.events[2].accepted
					})
					waits = append(waits, time.Since(began))
				}
			}
			probe("healthy")
			check(t, first.AwaitLog("delivery attempted"))
			check(t, second.AwaitLog("delivery attempted"))
			if _, _, duplicates := r.count(); duplicates > 0 {
				t.Errorf("%d events are duplicated without a fault", duplicates)
			}
			waits = nil
			d.seed(4, 2, r.urls[:origins/2]...)
			r.waitQuiet()
			before := len(second.Log())
			if freezes {
				check(t, first.Freeze())
			} else {
				check(t, first.Kill())
			}
			began := time.Now()
			r.abandonUnanswered()
			release()
			check(t, second.AwaitLogAfter(before, "lanes=256"))
			if took := time.Since(began); took > promptly {
				t.Errorf("the lanes of the other daemon are taken over after %v", took)
			}
			all += origins / 2 * 4 * 2
			probe("alone")
			for *scale > 1 && freezes && time.Since(began) < 40*time.Second { // until the connections of the frozen daemon time out
				probe("alone-" + time.Since(began).String())
			}
			if freezes {
				check(t, first.Resume())
				probe("continued")
			}
			r.waitAccepted(all)
			slices.Sort(waits)
			t.Logf("the events of %d avatars are delivered after %v (p50), %v (max)", len(waits), waits[len(waits)/2], waits[len(waits)-1])
			if most := waits[len(waits)-1]; most > promptly {
				t.Errorf("the events of an avatar are delivered after %v, want at most %v", most, promptly)
			}

			// PostgreSQL updates the count of commits with a delay of up to ten seconds.
			harness.Eventually(t, "idle daemons", func() bool {
				before := commits(t, cluster)
				time.Sleep(idleWindow)
				n := commits(t, cluster) - before
				t.Logf("%d commits in %v without work", n, idleWindow)
				return n <= idleCommits*int(idleWindow/time.Second)
			})
			if freezes {
				check(t, first.Stop())
			}
			check(t, second.Stop())
			r.wantAllDelivered(d, all, 2*workers)
			if strings.Contains(second.Log(), "level=ERROR") {
				t.Error("the second daemon logged an error")
			}
		})
	}
}

// waitQuiet waits until no request arrives for half a second.
func (r *receivers) waitQuiet() {
	r.t.Helper()
	last, arrivals := -1, 0
	for ; arrivals == 0 || arrivals > last; arrivals, _, _ = r.count() {
		last = arrivals
		time.Sleep(time.Second / 2)
	}
}

// commits returns how many transactions a server has committed.
func commits(t *testing.T, cluster *studiotest.Cluster) (n int) {
	t.Helper()
	db := studiotest.OpenSQL(t, cluster.DSN)
	defer func() { check(t, db.Close()) }()
	check(t, db.QueryRowContext(t.Context(), "SELECT sum(xact_commit) FROM pg_stat_database").Scan(&n))
	return n
}

// A daemon serves while the database is migrated to the next version. Another one serves the same clients. The first is
// restarted and then stopped. No request fails, and no event is duplicated. Package store tests who migrates.
func TestRollingUpdate_toNextVersion(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it starts four daemons under load")
	d := deploy(t, studiotest.NewPostgres(t))
	first := d.start()
	const origins, some = 20, 100
	r := receive(d, origins, nil)
	var created atomic.Int64
	stop := d.createAvatars(4, r.urls, func(_ time.Time, avatar *gen.Avatar, err error) bool {
		if err == nil {
			created.Add(1)
			_, err = d.client.GetAvatar(t.Context(), avatar.AvatarID)
			time.Sleep(20 * time.Millisecond)
		}
		if err != nil {
			t.Error(err)
		}
		return err == nil
	})
	defer stop()
	r.waitAccepted(some)

	migration := try(studiotest.OpenSQL(t, d.dsn).BeginTx(t.Context(), nil))(t)
	for _, statement := range []string{
		`ALTER TABLE subjects ADD COLUMN next TEXT NOT NULL DEFAULT 'new'`,
		`UPDATE compatibility SET oldest = version, version = 9999`,
		`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)`,
	} {
		try(migration.ExecContext(t.Context(), statement))(t)
	}
	check(t, migration.Commit())
	second, secondLogs := d.start(), 0
	for _, restart := range []bool{true, false} {
		d.connect(first, second)
		check(t, first.AwaitLog(evenLanes))
		check(t, second.AwaitLogAfter(secondLogs, evenLanes))
		_, accepted, _ := r.count()
		firstLogs := len(first.Log())
		secondLogs = len(second.Log())
		r.waitAccepted(accepted + some)
		check(t, first.AwaitLogAfter(firstLogs, "delivery attempted"))
		check(t, second.AwaitLogAfter(secondLogs, "delivery attempted"))
		d.connect(second)
		secondLogs = len(second.Log())
		check(t, first.Stop()) // it may have logged errors and retries caused by the locks of the migration
		check(t, second.AwaitLogAfter(secondLogs, "lanes=256"))
		if restart {
			first = d.start()
		}
	}
	_, accepted, _ := r.count()
	r.waitAccepted(accepted + some)
	stop()
	all := 3 * int(created.Load())
	r.waitAccepted(all)
	check(t, second.Stop())
	if strings.Contains(second.Log(), "level=ERROR") {
		t.Error("the second daemon logged an error")
	}
	r.wantAllDelivered(d, all, 0)
}

// With 20,000 due events, the first delivery is prompt and the memory of the daemon is bounded.
func TestBacklog_startsAtOnceWithLittleMemory(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		d.skipShortOnPostgres(t, "it writes 20,000 events")
		r := receive(d, 100, nil)
		const maxMemory = 200 << 20
		all, some := 20_000**scale, 1000**scale
		d.seed(all/len(r.urls), 1, r.urls...)
		p := d.start()
		began := time.Now()
		r.waitAccepted(1)
		first := time.Since(began)
		r.waitAccepted(some)
		_, peak := p.Memory()
		check(t, p.Stop())
		t.Logf("of %d events, the first was delivered after %v and %d within %v, with %d MiB of memory", all, first, some, time.Since(began), peak>>20)
		if first > promptly {
			t.Errorf("the first delivery is after %v", first)
		}
		if peak > maxMemory {
			t.Errorf("the peak memory of the daemon is %d bytes, want at most %d", peak, maxMemory)
		}
		if _, _, duplicates := r.count(); duplicates > 0 {
			t.Errorf("%d events are duplicated", duplicates)
		}
	})
}
