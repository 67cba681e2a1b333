package daemon_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

const (
	workers    = 256             // the default number of delivery workers of a daemon
	maxRestart = 3 * time.Second // of a killed daemon, until it has delivered its backlog
)

// kills measures the effect of killing the daemon repeatedly while it delivers a backlog.
func kills(s *setup) []figure {
	duplicates, longest := 0, time.Duration(0)
	for range s.kills {
		s.receiver.reset()
		s.seed(s.users[0], s.receiver.urls[accepts], s.killed/2, 2)
		s.killAt(s.killed/10 + rand.IntN(s.killed*8/10))
		t := s.finish(s.killed)
		duplicates, longest = max(duplicates, t.Duplicates), max(longest, t.Last.Sub(s.d.Started))
	}
	name := fmt.Sprintf("SIGKILL during %s events", thousands(s.killed))
	return []figure{
		{name + ": lost events", "0", fmt.Sprintf("0 in %d kills", s.kills), true},
		{name + ": duplicates", fmt.Sprintf("≤ %d, the number of workers", workers), fmt.Sprintf("max %d", duplicates), duplicates <= workers},
		{
			name + ": from the restart to the last delivery", fmt.Sprintf("≤ %v", maxRestart),
			fmt.Sprintf("max %.1f s", longest.Seconds()), longest <= maxRestart,
		},
	}
}

// killAt starts a daemon and kills it when the receiver has accepted the given number of events.
func (s *setup) killAt(accepted int) {
	s.t.Helper()
	s.start()
	s.receiver.ask(query{Accepted: accepted, MaxWait: maxWait})
	check(s.t, s.d.Kill())
}

// finish starts a daemon and stops it when all events are delivered.
func (s *setup) finish(events int) tally {
	s.t.Helper()
	s.start()
	defer s.stop()
	s.receiver.await(events, maxWait)
	// Events that were accepted but not recorded before a kill are sent again.
	s.awaitDelivered()
	return s.receiver.await(events, 0)
}

// order verifies the order of events while a receiver rejects some of them and the daemon is killed repeatedly.
func order(s *setup) []figure {
	each := s.ordered / s.subjects
	events := each * s.subjects
	s.seed(s.users[0], s.receiver.urls[fails], s.subjects, each)
	began := time.Now()
	for i := range s.restarts {
		s.killAt(events * (i + 1) / (s.restarts + 1))
	}
	t := s.finish(events)
	return []figure{{
		fmt.Sprintf("order of %s events of %s subjects, with %d SIGKILLs", thousands(events), thousands(s.subjects), s.restarts), "0 events out of order",
		fmt.Sprintf("%d (%s failed attempts, %d duplicates, %.0f s)", t.Inversions, thousands(t.Failed), t.Duplicates, time.Since(began).Seconds()),
		t.Inversions == 0,
	}}
}

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
