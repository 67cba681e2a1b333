package soak_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// One of two daemons is frozen with as many attempts in flight as possible, and continued later. Meanwhile the
// other one delivers new events promptly. Afterwards both are idle, and the first one has overwritten no results.
func TestTwoDaemons_deliverPromptlyWhileOneIsFrozen(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it waits for the end of leases")
	numbers := []int{8}
	if *scale > 1 {
		numbers = []int{4, 8, 64}
	}
	for _, workers := range numbers {
		t.Run(strconv.Itoa(workers)+"Workers", func(t *testing.T) {
			t.Parallel()
			const origins, probes = 20, 20
			const idleFor, idleWindow, idleCommits = time.Minute, 3 * time.Second, 50 // per second
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
			waits = nil
			d.seed(4, 2, r.urls[:origins/2]...)
			r.waitQuiet()
			all += origins / 2 * 4 * 2
			before := len(second.Log())
			check(t, first.Freeze())
			frozen := time.Now()
			r.abandonUnanswered()
			release()
			check(t, second.AwaitLogAfter(before, "lanes=256"))
			if took := time.Since(frozen); took > promptly {
				t.Errorf("the lanes of the frozen daemon are taken over after %v", took)
			}
			probe("frozen")
			if *scale > 1 { // until the connections of the frozen daemon time out
				for time.Since(frozen) < 40*time.Second {
					probe("frozen-" + time.Since(frozen).String())
				}
			}
			check(t, first.Resume())
			probe("continued")
			r.waitAccepted(all)
			slices.Sort(waits)
			t.Logf("the events of %d avatars are delivered after %v (p50), %v (max)", len(waits), waits[len(waits)/2], waits[len(waits)-1])
			if most := waits[len(waits)-1]; most > promptly {
				t.Errorf("the events of an avatar are delivered after %v, want at most %v", most, promptly)
			}

			// PostgreSQL updates the count of commits with a delay of up to ten seconds.
			for idle, until := false, time.Now().Add(idleFor); !idle; {
				before := commits(t, cluster)
				time.Sleep(idleWindow)
				n := commits(t, cluster) - before
				idle = n <= idleCommits*int(idleWindow/time.Second)
				if t.Logf("%d commits in %v without work", n, idleWindow); !idle && time.Now().After(until) {
					t.Fatalf("two idle daemons commit %d transactions in %v", n, idleWindow)
				}
			}
			check(t, first.Stop())
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

func (d *deployment) mustCreate(t *testing.T, key, url string) (id string) {
	t.Helper()
	avatar, err := d.createAvatar(t.Context(), key, url)
	check(t, err)
	return avatar.AvatarID
}
