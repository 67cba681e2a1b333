package daemon_test

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

const (
	sharedPorts = 16
	oneDaemon   = "one daemon only" // result on SQLite, which several daemons cannot share
)

// stoppedDaemon stops one of two daemons with SIGSTOP. The other daemon creates events. It measures their latency,
// separately for the lanes that each daemon held at the stop.
func stoppedDaemon(s *setup) []figure {
	name := fmt.Sprintf("one of two daemons stopped for %v: ", s.stopDuration)
	const running, stopped = "p99 latency of events in lanes of the running daemon", "maximum latency of events in lanes of the stopped daemon"
	if s.database == sqlite {
		return []figure{{name + running, "", oneDaemon, true}, {name + stopped, "", oneDaemon, true}}
	}
	s.start("--render-workers", "0") // renderings of the stopped daemon would be late
	s.awaitShared(1)
	var holder string
	check(s.t, s.sql.QueryRowContext(s.t.Context(), `SELECT id FROM holders`).Scan(&holder))
	s.startAll(2)
	lanes := s.lanesOf(holder)
	check(s.t, s.daemons[0].Signal(syscall.SIGSTOP))
	events := int(s.stopDuration.Seconds() * pacedRate)
	s.create(pacedRate, events, s.receiver.urls[accepts])
	check(s.t, s.daemons[0].Signal(syscall.SIGCONT))
	t, written := s.receiver.await(events, maxWait), s.written()
	var fromRunning, fromStopped latencies
	for subject, at := range t.Arrivals {
		if took := at.Sub(written[subject].at); slices.Contains(lanes, store.Lane(written[subject].origin)) {
			fromStopped = append(fromStopped, took)
		} else {
			fromRunning = append(fromRunning, took)
		}
	}
	s.awaitDelivered()
	p99, longest := fromRunning.percentile(99), fromStopped.percentile(100)
	return []figure{
		{name + running, "≤ 1 s", milliseconds(p99), p99 <= time.Second},
		{name + stopped, "≤ 5 s", fmt.Sprintf("%.2f s", longest.Seconds()), longest <= 5*time.Second},
	}
}

// lanesOf returns the lanes of a holder.
func (s *setup) lanesOf(holder string) (lanes []int) {
	s.t.Helper()
	rows, err := s.sql.QueryContext(s.t.Context(), `SELECT lane FROM lanes WHERE holder = $1`, holder)
	check(s.t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var lane int
		check(s.t, rows.Scan(&lane))
		lanes = append(lanes, lane)
	}
	check(s.t, rows.Err())
	return lanes
}

// startAll starts daemons with additional flags until n run, and waits until they share all lanes. If n-1 daemons run,
// it starts one more. Otherwise it first stops all of them.
func (s *setup) startAll(n int, flags ...string) {
	s.t.Helper()
	if len(s.running()) != n-1 {
		s.stopAll()
	}
	for len(s.running()) < n {
		s.start(flags...)
	}
	s.awaitShared(n)
}

func (s *setup) stopAll() {
	s.t.Helper()
	for _, d := range s.running() {
		check(s.t, d.Stop())
	}
}

// awaitShared waits until n daemons hold the same number of lanes.
func (s *setup) awaitShared(n int) {
	s.t.Helper()
	s.await(fmt.Sprintf(`SELECT CASE WHEN COUNT(*) = %d AND MIN(n) = %d THEN 1 ELSE 0 END
		FROM (SELECT COUNT(*) n FROM lanes WHERE holder IS NOT NULL GROUP BY holder) h`, n, store.Lanes/n), 1)
}
