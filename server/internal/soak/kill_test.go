package soak_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"syscall"
	"testing"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

func TestSIGKILL_beforeTheCommitLeavesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		r := receive(d, 1, nil)
		p := d.start()
		d.login()
		unlock := lock(t, d.dsn)
		<-d.sent // of the login
		created := make(chan error, 1)
		go func() {
			_, err := d.createAvatar(t.Context(), "ada", r.urls[0])
			created <- err
		}()
		<-d.sent
		p.kill()
		r.killed()
		if err := <-created; err == nil {
			t.Error("a creation that was not committed is answered")
		}
		unlock()
		var subjects int
		check(t, studiotest.OpenSQL(t, d.dsn).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM subjects").Scan(&subjects))
		if subjects != 0 {
			t.Errorf("%d avatars are left", subjects)
		}
		p = d.start()
		_, err := d.createAvatar(t.Context(), "ada", r.urls[0])
		check(t, err)
		r.waitAccepted(3)
		p.stop()
		r.wantEverything(d, 3, 0)
	})
}

// Some are killed between the commit and the answer, some before, some while they are rendered.
// Who asks again with the same key gets the same avatar, and each is announced whole.
func TestSIGKILL_afterTheCommitLosesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		r := receive(d, 10, nil)
		p := d.start("--render-time", "20ms")
		d.login()
		const together = 20
		rounds := 2 * *scale
		ids := make(map[string]string) // by key
		for round := range rounds {
			var mu sync.Mutex
			create := func(i int, answered func()) {
				key := fmt.Sprintf("%d-%d", round, i)
				avatar, err := d.createAvatar(t.Context(), key, r.urls[i%len(r.urls)])
				if err != nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if id, ok := ids[key]; ok && id != avatar.AvatarID {
					t.Errorf("one key makes %s and %s", id, avatar.AvatarID)
				}
				ids[key] = avatar.AvatarID
				answered()
			}
			some := make(chan struct{}, together)
			var creating sync.WaitGroup
			for i := range together {
				creating.Go(func() { create(i, func() { some <- struct{}{} }) })
			}
			all := make(chan struct{})
			go func() { defer close(all); creating.Wait() }()
			for range 1 + rand.IntN(together/2) {
				select {
				case <-some:
				case <-all: // they may all have been answered together
					if len(some) == 0 {
						t.Fatal("too few creations succeed before the kill")
					}
				}
			}
			p.kill()
			<-all
			r.killed()
			p = d.start("--render-time", "20ms")
			for i := range together {
				create(i, func() {})
			}
		}
		r.waitAccepted(3 * rounds * together)
		p.stop()
		r.wantEverything(d, 3*rounds*together, rounds*d.workers())
		if len(r.subjects) != len(ids) {
			t.Errorf("%d avatars of %d keys", len(r.subjects), len(ids))
		}
	})
}

func TestSIGKILL_midRequestSendsItAgain(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		answer, release := d.held(0) // nobody is there
		r, p := inFlightTo(d, 5, answer)
		const first = 5 * inFlight
		p.kill()
		r.killed()
		release()
		r.wait("the end of the connections", func() bool { return r.held == 0 })
		p = d.start()
		r.waitAccepted(4 * first)
		p.stop()
		r.wantEverything(d, 4*first, 0)
		if arrivals, _, _ := r.count(); arrivals != 5*first {
			t.Errorf("%d requests came, want those that were cut off once more", arrivals)
		}
	})
}

// The database is kept from writing while the receiver answers, so the kill cannot miss.
func TestSIGKILL_afterThe2xxBeforeTheRecordSendsItAgain(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		answer, release := d.held(http.StatusNoContent)
		r, p := inFlightTo(d, 5, answer)
		const first = 5 * inFlight
		unlock := lock(t, d.dsn)
		release()
		r.waitAccepted(first)
		p.kill()
		r.killed()
		unlock()
		p = d.start()
		r.waitAccepted(4 * first)
		p.stop()
		// Others may have begun, at most one of each subject.
		r.wantEverything(d, 4*first, 2*first)
		if _, _, duplicates := r.count(); duplicates < first {
			t.Errorf("%d events came again, want each that was in flight", duplicates)
		}
	})
}

func TestSIGTERM_finishesWhatIsInFlightAndBeginsNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		answer, release := d.held(http.StatusNoContent)
		r, p := inFlightTo(d, 5, answer)
		const first = 5 * inFlight
		check(t, p.cmd.Process.Signal(syscall.SIGTERM))
		p.wait("msg=stopping")
		release()
		p.waitEnd()
		if arrivals, accepted, _ := r.count(); arrivals != first || accepted != first {
			t.Errorf("%d requests came and %d were accepted, want the %d in flight", arrivals, accepted, first)
		}
		p = d.start()
		r.waitAccepted(4 * first)
		p.stop()
		r.wantEverything(d, 4*first, 0)
		if arrivals, _, _ := r.count(); arrivals != 4*first {
			t.Errorf("%d requests came, want one for each event", arrivals)
		}
	})
}

// Receivers fail one request of ten, avatars are created and rendered meanwhile, and the daemon is
// killed again and again.
func TestSIGKILL_atAnyMomentKeepsTheOrderAndLosesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		var mu sync.Mutex
		failed := make(map[string]int)
		const origins, avatars = 20, 20
		r := receive(d, origins, func(a arrival) int {
			mu.Lock()
			defer mu.Unlock()
			// A second failure waits 30 s, and one of each subject is enough for a short run.
			if rand.IntN(10) != 0 || a.attempt > 1 || failed[a.subject] >= *scale {
				return http.StatusNoContent
			}
			failed[a.subject]++
			return http.StatusInternalServerError
		})
		subjects, events, kills := 5**scale, 10**scale, 4**scale
		d.seed(subjects, events, r.urls...)
		all := origins*subjects*events + 3*avatars
		p := d.start("--render-time", "100ms")
		d.login()
		for i := range avatars {
			_, err := d.createAvatar(t.Context(), fmt.Sprint(i), r.urls[i%origins])
			check(t, err)
		}
		for kill := range kills {
			// Not later than what comes without a failure and a wait.
			arrivals, _, _ := r.count()
			next := arrivals + 1 + rand.IntN(max(all*6/10*(kill+1)/kills-arrivals, 1))
			r.waitArrivals(next)
			p.kill()
			r.killed()
			p = d.start("--render-time", "100ms")
		}
		r.waitAccepted(all)
		p.stop()
		r.wantEverything(d, all, kills*d.workers())
	})
}

func TestSIGKILL_duringARenderingRendersAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("not in the short form: it waits for the end of a lease")
	}
	eachDatabase(t, func(t *testing.T, d *deployment) {
		r := receive(d, 1, nil)
		p := d.start("--render-time", "10m", "--render-workers", "16")
		const avatars = 20 // more than are rendered at once
		for i := range avatars {
			_, err := d.createAvatar(t.Context(), fmt.Sprint(i), r.urls[0])
			check(t, err)
		}
		r.waitAccepted(avatars)
		p.kill()
		r.killed()
		p = d.start()
		r.waitAccepted(3 * avatars)
		for id := range r.subjects {
			avatar, err := d.client.GetAvatar(t.Context(), id)
			check(t, err)
			if avatar.Status != gen.AvatarStatusPublished {
				t.Errorf("an avatar is %s", avatar.Status)
			}
		}
		p.stop()
		r.wantEverything(d, 3*avatars, avatars)
	})
}
