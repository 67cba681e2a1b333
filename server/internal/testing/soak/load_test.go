package soak_test

import (
	"testing"
	"time"
)

// With 20,000 due events, the first delivery is prompt and the memory of the daemon is bounded.
func TestBacklog_startsAtOnceWithLittleMemory(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		d.skipShortOnPostgres(t, "it writes 20,000 events")
		r := receive(d, 100, nil)
		const maxMemory = 200 << 20
		all, some := 20_000**scale, 1000**scale
		d.seed(all/len(r.urls), 1, r.urls...)
		p := d.start()
		began := time.Now()
		r.waitAccepted(1)
		first := time.Since(began)
		r.waitAccepted(some)
		_, peak := p.Memory()
		check(t, p.Stop())
		t.Logf("of %d events, the first was delivered after %v and %d within %v, with %d MiB of memory", all, first, some, time.Since(began), peak>>20)
		if first > promptly {
			t.Errorf("the first delivery is after %v", first)
		}
		if peak > maxMemory {
			t.Errorf("the peak memory of the daemon is %d bytes, want at most %d", peak, maxMemory)
		}
		if _, _, duplicates := r.count(); duplicates > 0 {
			t.Errorf("%d events are duplicated", duplicates)
		}
	})
}
