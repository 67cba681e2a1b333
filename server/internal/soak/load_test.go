package soak_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestHungReceiver_oneOfAHundredDelaysNoOther(t *testing.T) {
	if testing.Short() {
		t.Skip("not in the short form: it waits for timeouts")
	}
	eachDatabase(t, func(t *testing.T, d *deployment) {
		answer, release := d.held(http.StatusNoContent)
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
		r.wait("as many requests at the one that hangs as it may have", func() bool { return r.held == inFlight })
		release()
		all := others + 3 + waiting
		r.waitAccepted(all)
		p.stop()
		r.wantEverything(d, all, 0)
	})
}

// fewer divides what this process writes to SQLite, which the race detector makes very slow.
var fewer = 1

// A hundred thousand events wait; the daemon begins at once and takes no more memory than it may.
func TestBacklog_ofAHundredThousandIsBegunAtOnceInLittleMemory(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		r := receive(d, 100, nil)
		const soon, memory = 30 * time.Second, 200 << 20
		all := 100_000
		if strings.HasPrefix(d.dsn, "sqlite:") {
			all /= fewer
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
		took, peak := time.Since(began), p.peakMemory()
		p.stop()
		t.Logf("the first of %d came after %v, %d within %v, with %d MiB", all, first, some, took, peak>>20)
		if first > soon {
			t.Errorf("the first delivery came after %v, want it within %v", first, soon)
		}
		if peak > memory {
			t.Errorf("the daemon took %d bytes, want at most %d", peak, memory)
		}
		if some == all {
			r.wantEverything(d, all, 0)
		}
		if _, _, duplicates := r.count(); duplicates > 0 {
			t.Errorf("%d events came again", duplicates)
		}
	})
}
