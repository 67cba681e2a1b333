package soak_test

import (
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// One of two daemons is frozen with as many attempts in flight as it can have, and
// continued. The other delivers what comes within a second, and nothing is left that keeps them busy.
func TestTwoDaemons_oneIsFrozenAndContinuedAtAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("not in the short form: it waits for the end of leases")
	}
	numbers := []int{8}
	if *scale > 1 {
		numbers = []int{4, 8, 64}
	}
	for _, workers := range numbers {
		t.Run(strconv.Itoa(workers)+"Workers", func(t *testing.T) {
			t.Parallel()
			const origins, probes = 20, 20
			const takeOver = 10 * time.Second                                              // of a machine that may be busy
			const idleFor, idleWindow, idleCommits = 30 * time.Second, 3 * time.Second, 50 // commits a second
			cluster := startCluster(t, "fsync=off")
			d := deploy(t, studiotest.NewSchema(t, cluster.DSN))
			answer, release := d.held(0)
			r := receive(d, origins, func(a arrival) int {
				if a.receiver < origins/2 {
					return answer(a)
				}
				return 204
			})
			first, second := d.start("--workers", strconv.Itoa(workers)), d.start("--workers", strconv.Itoa(workers))
			first.wait(halfOfLanes)
			second.wait(halfOfLanes)
			var waits []time.Duration
			all := 0
			probe := func(name string) {
				t.Helper()
				for i := range probes {
					began := time.Now()
					id := d.mustCreate(t, fmt.Sprintf("%s-%d", name, i), r.urls[origins/2+i%(origins/2)])
					all += 3
					r.wait("the events of "+id, func() bool {
						s := r.subjects[id]
						return s != nil && len(s.events) == 3 && s.events[2].accepted
					})
					waits = append(waits, time.Since(began))
				}
			}
			probe("healthy")
			late := max(time.Second, 4*slices.Max(waits)) // this machine may be busy
			waits = nil
			d.seed(4, 2, r.urls[:origins/2]...)
			r.waitQuiet()
			all += origins / 2 * 4 * 2
			before := second.logs()
			first.freeze()
			frozen := time.Now()
			r.killed()
			release()
			second.waitAfter(before, "lanes=256")
			if took := time.Since(frozen); took > takeOver {
				t.Errorf("the lanes of the one that is frozen are taken over after %v", took)
			}
			probe("frozen")
			if *scale > 1 { // as long as it may hold up the other one
				for time.Since(frozen) < 40*time.Second {
					probe("frozen-" + time.Since(frozen).String())
				}
			}
			first.signal(syscall.SIGCONT)
			probe("continued")
			r.waitAccepted(all)
			slices.Sort(waits)
			t.Logf("%d avatars are announced whole after %v (p50), %v (most)", len(waits), waits[len(waits)/2], waits[len(waits)-1])
			if most := waits[len(waits)-1]; most > late {
				t.Errorf("an avatar is announced whole after %v, want at most %v", most, late)
			}

			// PostgreSQL counts what a connection has committed up to ten seconds later.
			for calm, until := false, time.Now().Add(idleFor); !calm; {
				before := commits(t, cluster)
				time.Sleep(idleWindow)
				n := commits(t, cluster) - before
				calm = n <= idleCommits*int(idleWindow/time.Second)
				if t.Logf("%d commits in %v with nothing to do", n, idleWindow); !calm && time.Now().After(until) {
					t.Fatalf("two daemons with nothing to do commit %d transactions in %v", n, idleWindow)
				}
			}
			first.stop()
			second.stop()
			r.wantEverything(d, all, 2*workers)
		})
	}
}

// waitQuiet waits until no request comes for a while.
func (r *receivers) waitQuiet() {
	r.t.Helper()
	last, arrivals := -1, 0
	for ; arrivals == 0 || arrivals > last; arrivals, _, _ = r.count() {
		last = arrivals
		time.Sleep(time.Second / 2)
	}
}

// commits is how many transactions a server has committed.
func commits(t *testing.T, cluster *studiotest.Cluster) (n int) {
	t.Helper()
	db := studiotest.OpenSQL(t, cluster.DSN)
	defer func() { check(t, db.Close()) }()
	check(t, db.QueryRowContext(t.Context(), "SELECT sum(xact_commit) FROM pg_stat_database").Scan(&n))
	return n
}

func (d *deployment) mustCreate(t *testing.T, key, url string) (id string) {
	t.Helper()
	avatar, err := d.createAvatar(t.Context(), key, url)
	check(t, err)
	return avatar.AvatarID
}

// What was in work when the daemon was killed is sent again soon after another one was started,
// which waits for the lease of the first.
func TestSIGKILL_whatWasInWorkIsSentAgainWithinSeconds(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		const origins, soon = 5, store.Lease + 10*time.Second // on a machine that may be busy
		answer, release := d.held(0)
		r, p := inFlightTo(d, origins, answer)
		p.kill()
		killed := time.Now()
		r.killed()
		release()
		arrivals, _, _ := r.count()
		p = d.start()
		r.waitArrivals(arrivals + 1)
		took := time.Since(killed)
		t.Logf("the first delivery came %v after the kill", took)
		if took > soon {
			t.Errorf("the first delivery came %v after the kill, want it within %v", took, soon)
		}
		r.waitAccepted(4 * origins * inFlight)
		p.stop()
		r.wantEverything(d, 4*origins*inFlight, 0)
	})
}
