package soak_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

func TestHungReceiver_oneOfAHundredDelaysNoOther(t *testing.T) {
	harness.SkipShort(t, "it waits for timeouts")
	eachDatabase(t, func(t *testing.T, d *deployment) {
		answer, release := d.blockingAnswer(http.StatusNoContent)
		r := receive(d, 100, func(a arrival) int {
			if a.receiver == 0 {
				return answer(a)
			}
			return http.StatusNoContent
		})
		waiting := 100 * *scale
		d.seed(waiting, 1, r.urls[0])
		d.seed(2, 2, r.urls[1:]...)
		p := d.start()
		others := 4 * (len(r.urls) - 1)
		r.waitAccepted(others)
		_, err := d.createAvatar(t.Context(), "healthy", r.urls[1])
		check(t, err)
		r.waitAccepted(others + 3)
		r.wait("the maximum of requests in flight to the hung receiver", func() bool { return r.unanswered == inFlight })
		release()
		all := others + 3 + waiting
		r.waitAccepted(all)
		check(t, p.Stop())
		r.wantAllDelivered(d, all, 0)
	})
}

// With 100,000 due events, or 20,000 in short mode, the first delivery is prompt and the memory of the daemon is
// bounded.
func TestBacklog_startsAtOnceWithLittleMemory(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		d.skipShortOnPostgres(t, "it writes 20,000 events")
		r := receive(d, 100, nil)
		const maxDelay, maxMemory = 30 * time.Second, 200 << 20
		all := 100_000
		if testing.Short() {
			all = 20_000
		}
		d.seed(all/len(r.urls), 1, r.urls...)
		p := d.start()
		began := time.Now()
		r.waitAccepted(1)
		first := time.Since(began)
		some := 2000
		if *scale > 1 {
			some = all
		}
		r.waitAccepted(some)
		took := time.Since(began)
		_, peak := p.Memory()
		check(t, p.Stop())
		t.Logf("of %d events, the first was delivered after %v and %d within %v, with %d MiB of memory", all, first, some, took, peak>>20)
		if first > maxDelay {
			t.Errorf("the first delivery is after %v, want it within %v", first, maxDelay)
		}
		if peak > maxMemory {
			t.Errorf("the peak memory of the daemon is %d bytes, want at most %d", peak, maxMemory)
		}
		if some == all {
			r.wantAllDelivered(d, all, 0)
		}
		if _, _, duplicates := r.count(); duplicates > 0 {
			t.Errorf("%d events are duplicated", duplicates)
		}
	})
}
