package daemon_test

import (
	"fmt"
	"path/filepath"
	"time"
)

const (
	maxLatency   = 100 * time.Millisecond // p99 of a sustained rate
	maxDelay     = time.Second            // of every event at a sustained rate
	drainTimeout = 5 * time.Minute        // for events after the last request
	maxTries     = 2                      // of a rate
	minSustained = 2000                   // creations per second, on a machine with quick transactions
)

// creationLoad measures creations, with the renderings and deliveries that follow from them. The daemon has metrics, logs
// and encryption.
func creationLoad(s *setup) []figure {
	floor := s.floorRate()
	s.program = append([]string{"env", "STUDIO_KEYS=MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}, s.program...)
	s.start("--admin-addr", "127.0.0.1:0", "--media", "file:"+filepath.Join(s.t.TempDir(), "media"))
	for _, u := range s.users {
		s.login(u)
	}
	r := s.measureLoad(s.creations, s.creationDuration)
	highest, found := s.searchLoad()
	onTime := 0
	for _, delay := range r.delays {
		if delay <= maxDelay {
			onTime++
		}
	}
	share, least := 100*float64(onTime)/float64(max(len(r.delays), 1)), s.targets().sustained
	prefix := fmt.Sprintf("%s creations/s for %v: ", thousands(s.creations), s.creationDuration)
	return []figure{
		{"floor: durable transactions of one row, 16 callers", "", perSecond(floor), true},
		{prefix + "latency", "p99 ≤ 100 ms", r.latencies.String(), r.latencies.percentile(99) <= maxLatency},
		{prefix + "errors", "0", fmt.Sprintf("%d of %s", r.errors, thousands(len(r.latencies))), r.errors == 0},
		{prefix + "events delivered within 1 s", "100 %", fmt.Sprintf("%.2f %%", share), onTime == len(r.delays)},
		{prefix + "delay of events", "max ≤ 1 s", r.delays.String(), onTime == len(r.delays)},
		{
			"highest sustained rate of creations, for " + s.searchStep.String(), fmt.Sprintf("≥ %s/s, or %v × the floor", thousands(minSustained), least),
			fmt.Sprintf("%s/s (%.2f × the floor); %s", thousands(highest), float64(highest)/floor, found),
			highest >= minSustained || float64(highest) >= least*floor,
		},
	}
}
