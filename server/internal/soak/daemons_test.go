package soak_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// evenLanes is logged by each of two daemons once they share the lanes evenly.
const evenLanes = "lanes=128"

// promptly bounds what takes a few seconds on an idle machine. It is shorter than the 30 s after which a daemon finds due work
// whose notification was lost.
const promptly = 20 * time.Second

// Two daemons share the deliveries, and never send two events of a subject, or the same event twice, at the same
// time. After one is killed, the other delivers its events within seconds.
func TestTwoDaemons_shareWorkAndTakeOverAfterKill(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("not in short mode: it waits for the end of a lease")
	}
	d := deploy(t, studiotest.NewPostgres(t))
	answer, release := d.blockingAnswer(http.StatusNoContent)
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
	r.waitArrivals(origins) // a duplicate would also be unanswered now
	release()
	check(t, second.AwaitLog(evenLanes))
	d.seed(subjects, events, r.urls...)
	r.waitAccepted(all / 3)
	if _, _, duplicates := r.count(); duplicates > 0 {
		t.Errorf("%d events are duplicated without a fault", duplicates)
	}
	check(t, first.AwaitLog("delivery attempted"))
	check(t, second.AwaitLog("delivery attempted"))
	check(t, first.Kill())
	r.abandonUnanswered()
	began := time.Now()
	r.waitAccepted(all)
	if took := time.Since(began); took > promptly*time.Duration(*scale) {
		t.Errorf("the second daemon needs %v to deliver all events", took)
	}
	check(t, second.Stop())
	r.wantAllDelivered(d, all, maxUnrecorded)
}

// A daemon is frozen with attempts in flight, and another one delivers their events. Then the first one continues
// and must not overwrite the results.
func TestTwoDaemons_takeOverFromFrozenDaemon(t *testing.T) {
	t.Parallel()
	d := deploy(t, studiotest.NewPostgres(t))
	answer, release := d.blockingAnswer(0) // no response
	const origins = 20
	r := receive(d, origins, answer)
	first, second := d.start(), d.start()
	check(t, first.AwaitLog(evenLanes))
	check(t, second.AwaitLog(evenLanes))
	d.seed(8, 2, r.urls...)
	const all = origins * 8 * 2
	r.waitArrivals(origins * inFlight)
	before := len(second.Log())
	check(t, first.Freeze())
	r.abandonUnanswered()
	release()
	frozen := time.Now()
	check(t, second.AwaitLogAfter(before, "lanes=256"))
	if took := time.Since(frozen); took > promptly {
		t.Errorf("the lanes of the frozen daemon are taken over after %v", took)
	}
	r.waitAccepted(all)
	check(t, first.Resume())
	_, err := d.createAvatar(t.Context(), "after", r.urls[0])
	check(t, err)
	r.waitAccepted(all + 3)
	check(t, first.Stop())
	check(t, second.Stop())
	r.wantAllDelivered(d, all+3, 0)
	if strings.Contains(second.Log(), "level=ERROR") {
		t.Error("the second daemon logged an error")
	}
}
