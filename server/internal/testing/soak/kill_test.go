package soak_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"syscall"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func TestSIGKILL_beforeCommitCreatesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		r := receive(d, 1, nil)
		p := d.start()
		d.login()
		unlock := lockEvents(t, d.dsn)
		<-d.written // the login
		created := make(chan error, 1)
		go func() {
			_, err := d.createAvatar(t.Context(), "ada", r.urls[0])
			created <- err
		}()
		<-d.written
		check(t, p.Kill())
		r.abandonUnanswered()
		if err := <-created; err == nil {
			t.Error("a creation succeeds that was not committed")
		}
		unlock()
		var subjects int
		check(t, studiotest.OpenSQL(t, d.dsn).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM subjects").Scan(&subjects))
		if subjects != 0 {
			t.Errorf("%d avatars exist, want none", subjects)
		}
		p = d.start()
		_, err := d.createAvatar(t.Context(), "ada", r.urls[0])
		check(t, err)
		r.waitAccepted(3)
		check(t, p.Stop())
		r.wantAllDelivered(d, 3, 0)
	})
}

// The daemon is killed while creations are before their commit, between commit and response, or being rendered. A
// retry with the same idempotency key gets the same avatar, and all events of each avatar are delivered.
func TestSIGKILL_afterCommitLosesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		d.skipShortOnPostgres(t, "it waits for the end of a lease")
		r := receive(d, 10, nil)
		p := d.start("--renderer=simulate:20ms")
		d.login()
		const concurrent = 20
		rounds := 2 * *scale
		ids := make(map[string]string) // by key
		for round := range rounds {
			var mu sync.Mutex
			create := func(i int, succeeded func()) {
				key := fmt.Sprintf("%d-%d", round, i)
				avatar, err := d.createAvatar(t.Context(), key, r.urls[i%len(r.urls)])
				if err != nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if id, ok := ids[key]; ok && id != avatar.AvatarID {
					t.Errorf("one key creates %s and %s", id, avatar.AvatarID)
				}
				ids[key] = avatar.AvatarID
				succeeded()
			}
			some := make(chan struct{}, concurrent)
			var creating sync.WaitGroup
			for i := range concurrent {
				creating.Go(func() { create(i, func() { some <- struct{}{} }) })
			}
			all := make(chan struct{})
			go func() { defer close(all); creating.Wait() }()
			for range 1 + rand.IntN(concurrent/2) {
				select {
				case <-some:
				case <-all: // all may have succeeded at the same time
					if len(some) == 0 {
						t.Fatal("too few creations succeed before the kill")
					}
				}
			}
			check(t, p.Kill())
			<-all
			r.abandonUnanswered()
			p = d.start("--renderer=simulate:20ms")
			for i := range concurrent {
				create(i, func() {})
			}
		}
		r.waitAccepted(3 * rounds * concurrent)
		check(t, p.Stop())
		r.wantAllDelivered(d, 3*rounds*concurrent, rounds*maxUnrecorded)
		if len(r.subjects) != len(ids) {
			t.Errorf("%d avatars exist for %d keys", len(r.subjects), len(ids))
		}
	})
}

// The database is locked while the receiver responds, so that the daemon is killed before it records the success.
func TestSIGKILL_beforeSuccessIsRecordedRetriesEvent(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		answer, release := d.blockingAnswer(http.StatusNoContent)
		r, p := startAtInFlightLimit(d, 5, answer)
		const first = 5 * inFlight
		unlock := lockEvents(t, d.dsn)
		release()
		r.waitAccepted(first)
		check(t, p.Kill())
		r.abandonUnanswered()
		unlock()
		p = d.start()
		r.waitAccepted(4 * first)
		check(t, p.Stop())
		// Attempts for other subjects may have started, at most one for each.
		r.wantAllDelivered(d, 4*first, 2*first)
		if _, _, duplicates := r.count(); duplicates < first {
			t.Errorf("%d events are duplicated, want all %d in flight", duplicates, first)
		}
	})
}

func TestSIGTERM_finishesAttemptsInFlightAndStartsNone(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		answer, release := d.blockingAnswer(http.StatusNoContent)
		r, p := startAtInFlightLimit(d, 5, answer)
		const first = 5 * inFlight
		check(t, p.Signal(syscall.SIGTERM))
		check(t, p.AwaitLog("msg=stopping"))
		release()
		check(t, p.Wait())
		if arrivals, accepted, _ := r.count(); arrivals != first || accepted != first {
			t.Errorf("%d requests arrived and %d were accepted, want the %d in flight", arrivals, accepted, first)
		}
		p = d.start()
		r.waitAccepted(4 * first)
		check(t, p.Stop())
		r.wantAllDelivered(d, 4*first, 0)
		if arrivals, _, _ := r.count(); arrivals != 4*first {
			t.Errorf("%d requests arrived, want one for each event", arrivals)
		}
	})
}

// The daemon is killed several times, while receivers fail one request in ten and avatars are created and rendered.
func TestSIGKILL_atAnyTimeKeepsOrderAndLosesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		d.skipShortOnPostgres(t, "it waits for the end of a lease")
		var mu sync.Mutex
		failed := make(map[string]int)
		const origins, avatars = 20, 20
		r := receive(d, origins, func(a arrival) int {
			mu.Lock()
			defer mu.Unlock()
			// The retry after a second failure waits 30 s, and one failure per subject keeps the run short.
			if rand.IntN(10) != 0 || a.attempt > 1 || failed[a.subject] >= *scale {
				return http.StatusNoContent
			}
			failed[a.subject]++
			return http.StatusInternalServerError
		})
		subjects, events, kills := 5**scale, 10**scale, 4**scale
		d.seed(subjects, events, r.urls...)
		all := origins*subjects*events + 3*avatars
		p := d.start("--renderer=simulate:100ms")
		d.login()
		for i := range avatars {
			_, err := d.createAvatar(t.Context(), fmt.Sprint(i), r.urls[i%origins])
			check(t, err)
		}
		for kill := range kills {
			// The events without failures suffice to reach this number, so the kill waits for no retry.
			arrivals, _, _ := r.count()
			next := arrivals + 1 + rand.IntN(max(all*6/10*(kill+1)/kills-arrivals, 1))
			r.waitArrivals(next)
			check(t, p.Kill())
			r.abandonUnanswered()
			p = d.start("--renderer=simulate:100ms")
		}
		r.waitAccepted(all)
		check(t, p.Stop())
		r.wantAllDelivered(d, all, kills*maxUnrecorded)
	})
}
