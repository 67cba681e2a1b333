package soak_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// evenLanes is logged by each of two daemons once they share the lanes evenly.
const evenLanes = "lanes=128"

// promptly bounds what takes a few seconds on an idle machine. It is shorter than the 30 s after which a daemon finds
// due work whose notification was lost.
const promptly = 25 * time.Second

// Two daemons share the deliveries, and never send two events of a subject, or the same event twice, at the same
// time. After one is killed, the other delivers its events within seconds.
func TestTwoDaemons_shareWorkAndTakeOverAfterKill(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it waits for the end of a lease")
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
