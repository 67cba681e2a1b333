package daemon_test

import (
	"fmt"
	"syscall"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

const (
	sharedPorts = 16
	oneDaemon   = "one daemon only" // result on SQLite, which several daemons cannot share
	// takeover is how long after the stop of a daemon the other one has all its lanes.
	takeover = 5 * time.Second
)

// stoppedDaemon stops one of two daemons with SIGSTOP. The other daemon creates events. It measures their latency,
// separately for those that are created before the takeover.
func stoppedDaemon(s *setup) []figure {
	name := fmt.Sprintf("one of two daemons stopped for %v: ", s.stopDuration)
	const before, after = "maximum latency of events in the first 5 s", "p99 latency of later events"
	if s.database == sqlite {
		return []figure{{name + before, "", oneDaemon, true}, {name + after, "", oneDaemon, true}}
	}
	s.start("--render-workers", "0") // renderings of the stopped daemon would be late
	stopped := s.d
	s.start()
	s.await(fmt.Sprintf(`SELECT COUNT(*) FROM (SELECT FROM lanes WHERE holder IS NOT NULL GROUP BY holder HAVING COUNT(*) = %d) h`, store.Lanes/2), 2)
	check(s.t, stopped.Signal(syscall.SIGSTOP))
	began, events := time.Now(), int(s.stopDuration.Seconds()*pacedRate)
	s.create(pacedRate, events, s.receiver.urls[accepts])
	check(s.t, stopped.Signal(syscall.SIGCONT))
	var early, later latencies
	for took, at := range s.latencies(events) {
		if at.Before(began.Add(takeover)) {
			early = append(early, took)
		} else {
			later = append(later, took)
		}
	}
	s.awaitDelivered()
	longest, p99 := early.percentile(100), later.percentile(99)
	return []figure{
		{name + before, "≤ 5 s", fmt.Sprintf("%.2f s", longest.Seconds()), longest <= takeover},
		{name + after, "≤ 1 s", milliseconds(p99), p99 <= time.Second},
	}
}
