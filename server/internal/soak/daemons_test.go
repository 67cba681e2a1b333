package soak_test

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// halfOfLanes is what each of two daemons logs once both have a share.
const halfOfLanes = "lanes=128"

// Two daemons share the work, and never send two events of a subject, or one event twice, at once.
// When one is killed, the other takes over what it had within seconds.
func TestTwoDaemons_shareTheWorkAndOneTakesOverWhenTheOtherIsKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("not in the short form: it waits for the end of a lease")
	}
	const takeOver = 10 * time.Second
	d := deploy(t, studiotest.NewPostgres(t))
	answer, release := d.held(http.StatusNoContent)
	const origins = 20
	r := receive(d, origins, answer)
	subjects := 10 * *scale
	const events = 5
	d.seed(subjects, events, r.urls...)
	first, second := d.start(), d.start()
	const avatars = 20
	for i := range avatars {
		_, err := d.createAvatar(t.Context(), fmt.Sprint(i), r.urls[i%origins])
		check(t, err)
	}
	all := 2*origins*subjects*events + 3*avatars
	r.waitArrivals(origins) // while an event that came twice would be held twice
	release()
	second.wait(halfOfLanes)
	d.seed(subjects, events, r.urls...)
	r.waitAccepted(all / 3)
	if _, _, duplicates := r.count(); duplicates > 0 {
		t.Errorf("%d events came twice without a fault", duplicates)
	}
	first.wait("delivery attempted")
	second.wait("delivery attempted")
	first.kill()
	r.killed()
	began := time.Now()
	r.waitAccepted(all)
	if took := time.Since(began); took > takeOver*time.Duration(*scale) {
		t.Errorf("the second daemon took %v to have delivered everything", took)
	}
	second.stop()
	r.wantEverything(d, all, d.workers())
}

// A daemon is frozen in the middle of attempts, another delivers their events, and the first one goes
// on and has to say how its attempts ended.
func TestTwoDaemons_oneIsFrozenWhileTheOtherDoesItsWork(t *testing.T) {
	t.Parallel()
	d := deploy(t, studiotest.NewPostgres(t))
	answer, release := d.held(0) // nobody is there
	const origins = 20
	r := receive(d, origins, answer)
	first, second := d.start(), d.start()
	first.wait(halfOfLanes)
	second.wait(halfOfLanes)
	d.seed(8, 2, r.urls...)
	const all = origins * 8 * 2
	r.waitArrivals(origins * inFlight)
	before := second.logs()
	first.freeze()
	r.killed()
	release()
	frozen := time.Now()
	second.waitAfter(before, "lanes=256")
	if took := time.Since(frozen); took > 10*time.Second {
		t.Errorf("the lanes of the one that is frozen are taken over after %v", took)
	}
	r.waitAccepted(all)
	first.signal(syscall.SIGCONT)
	_, err := d.createAvatar(t.Context(), "after", r.urls[0])
	check(t, err)
	r.waitAccepted(all + 3)
	first.stop()
	second.stop()
	r.wantEverything(d, all+3, 0)
	if second.logged("level=ERROR") {
		t.Error("a daemon reports an error")
	}
}
