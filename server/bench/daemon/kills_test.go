package daemon_test

import (
	"fmt"
	"math/rand/v2"
	"time"
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
