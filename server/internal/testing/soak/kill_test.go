package soak_test

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
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
		try(d.createAvatar(t.Context(), "ada", r.urls[0]))(t)
		r.waitAccepted(3)
		check(t, p.Stop())
		r.wantAllDelivered(d, 3, 0)
	})
}

// A daemon ends with as many attempts in flight as possible, and another one starts. It delivers the events soon.
func TestEnd_withAttemptsInFlightLosesNothing(t *testing.T) {
	t.Parallel()
	const origins, first = 5, 5 * inFlight
	for name, c := range map[string]struct {
		status     int // of the receivers, which answer when release is called
		end        func(d *deployment, r *receivers, p *harness.Daemon, release func()) error
		again      int // how many events are sent twice
		duplicates int // how many of them were accepted before
	}{
		"KilledBeforeTheAnswers": {0, func(_ *deployment, r *receivers, p *harness.Daemon, release func()) error {
			defer r.wait("the end of all requests", func() bool { return r.unanswered == 0 })
			defer release()
			return p.Kill()
		}, first, 0},
		// The database is locked while the receivers answer.
		"KilledBeforeTheRecords": {http.StatusNoContent, func(d *deployment, r *receivers, p *harness.Daemon, release func()) error {
			defer lockEvents(d.t, d.dsn)()
			release()
			r.waitAccepted(first)
			return p.Kill()
		}, first, first},
		"Stopped": {http.StatusNoContent, func(_ *deployment, r *receivers, p *harness.Daemon, release func()) error {
			err := errors.Join(p.Signal(syscall.SIGTERM), p.AwaitLog("msg=stopping"))
			release()
			err = errors.Join(err, p.Wait())
			if arrivals, accepted, _ := r.count(); arrivals != first || accepted != first {
				r.t.Errorf("%d requests arrived and %d were accepted, want the %d in flight", arrivals, accepted, first)
			}
			return err
		}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			eachDatabase(t, func(t *testing.T, d *deployment) {
				d.skipShortOnPostgres(t, "SQLite shows it")
				answer, release := d.blockingAnswer(c.status)
				r, p := startAtInFlightLimit(d, origins, answer)
				check(t, c.end(d, r, p, release))
				ended := time.Now()
				r.abandonUnanswered()
				arrivals, _, _ := r.count()
				p = d.start()
				r.waitArrivals(arrivals + 1)
				if took := time.Since(ended); took > promptly {
					t.Errorf("the first delivery is %v after the end", took)
				}
				r.waitAccepted(4 * first)
				check(t, p.Stop())
				// Attempts for other subjects may have started before a record was impossible, at most one for each.
				r.wantAllDelivered(d, 4*first, 2*c.duplicates)
				arrivals, _, duplicates := r.count()
				if duplicates < c.duplicates || c.duplicates == 0 && arrivals != 4*first+c.again {
					t.Errorf("%d requests with %d duplicates arrived, want %d events again", arrivals, duplicates, c.again)
				}
			})
		})
	}
}

// The daemon is killed several times, while receivers fail one request in ten and avatars are created and rendered:
// before the commit of a creation, between commit and response, and while it renders. A retry of a creation with the
// same idempotency key gets the same avatar.
func TestSIGKILL_atAnyTimeKeepsOrderAndLosesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		d.skipShortOnPostgres(t, "it waits for the end of a lease")
		var mu sync.Mutex
		failed := make(map[string]int)
		const origins = 20
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
		subjects, events, kills := 4**scale, 6**scale, 4**scale
		d.seed(subjects, events, r.urls...)
		seeded := origins * subjects * events
		p := d.start("--renderer=simulate:100ms")
		d.login()
		var avatars atomic.Int64
		stop := d.createAvatars(4, r.urls, func(_ time.Time, _ *gen.Avatar, err error) bool {
			if err == nil {
				avatars.Add(1)
				time.Sleep(100 * time.Millisecond)
			}
			return true
		})
		defer stop()
		for kill := range kills {
			// The events without failures suffice to reach this number, so the kill waits for no retry.
			arrivals, _, _ := r.count()
			next := arrivals + 1 + rand.IntN(max(seeded*6/10*(kill+1)/kills-arrivals, 1))
			r.waitArrivals(next)
			check(t, p.Kill())
			r.abandonUnanswered()
			p = d.start("--renderer=simulate:100ms")
		}
		stop()
		all := seeded + 3*int(avatars.Load())
		r.waitAccepted(all)
		check(t, p.Stop())
		r.wantAllDelivered(d, all, kills*maxUnrecorded)
	})
}
