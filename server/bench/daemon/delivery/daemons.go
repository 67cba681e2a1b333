package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

const (
	sharedPorts = 16
	oneDaemon   = "one daemon only" // result on SQLite, which several daemons cannot share
)

// stoppedDaemon stops one of two daemons with SIGSTOP. The other daemon creates events. It measures their latency,
// separately for the lanes that each daemon held at the stop.
func stoppedDaemon(ctx context.Context, s *setup) ([]figure, error) {
	name := fmt.Sprintf("one of two daemons stopped for %v: ", s.stopDuration)
	const running, stopped = "p99 latency of events in lanes of the running daemon", "maximum latency of events in lanes of the stopped daemon"
	if s.db.Name == measure.SQLite {
		return []figure{{name + running, "", oneDaemon, true}, {name + stopped, "", oneDaemon, true}}, nil
	}
	if err := s.start(ctx, "--render-workers", "0"); err != nil { // renderings of the stopped daemon would be late
		return nil, err
	}
	if err := s.waitShared(ctx, 1); err != nil {
		return nil, err
	}
	var holder string
	if err := s.db.SQL.QueryRowContext(ctx, `SELECT id FROM holders`).Scan(&holder); err != nil {
		return nil, err
	}
	if err := s.startAll(ctx, 2); err != nil {
		return nil, err
	}
	lanes, err := s.db.lanesOf(ctx, holder)
	if err != nil {
		return nil, err
	}
	first := s.daemons[0]
	if err := first.Signal(syscall.SIGSTOP); err != nil {
		return nil, err
	}
	events := int(s.stopDuration.Seconds() * pacedRate)
	err = s.d.create(ctx, pacedRate, events, s.receiver.urls[accepts])
	if contErr := first.Signal(syscall.SIGCONT); err == nil {
		err = contErr
	}
	if err != nil {
		return nil, err
	}
	t, err := s.receiver.waitAll(events, maxWait, true)
	if err != nil {
		return nil, err
	}
	created, err := s.db.eventOrigins(ctx)
	if err != nil {
		return nil, err
	}
	var fromRunning, fromStopped []float64
	for id, at := range t.Arrivals {
		if took := float64(at.Sub(created[id].at)); lanes[store.Lane(created[id].origin)] {
			fromStopped = append(fromStopped, took)
		} else {
			fromRunning = append(fromRunning, took)
		}
	}
	p99, longest := time.Duration(measure.Percentile(fromRunning, 99)), time.Duration(measure.Percentile(fromStopped, 100))
	return []figure{
		{name + running, "≤ 1 s", measure.Milliseconds(p99), p99 <= time.Second},
		{name + stopped, "≤ 5 s", fmt.Sprintf("%.2f s", longest.Seconds()), longest <= 5*time.Second},
	}, s.db.delivered(ctx)
}

// daemons measures throughput and latency with several daemons on one database.
func daemons(ctx context.Context, s *setup) (figures []figure, err error) {
	for _, n := range s.plan.daemons {
		name := plural(n, "daemon") + " on one database"
		deliveries, paced := name+": deliveries", fmt.Sprintf("%s: latency at %d events/s", name, pacedRate)
		if s.db.Name == measure.SQLite {
			figures = append(figures, figure{deliveries, "", oneDaemon, true}, figure{paced, "p99 ≤ 10 ms", oneDaemon, true})
			continue
		}
		var all []drained
		for round := range min(s.rounds, 3) {
			d, err := s.drainShared(ctx, batch{name: fmt.Sprintf("shared%d-%d", n, round), subjects: s.backlog}, n)
			if err != nil {
				return nil, err
			}
			all = append(all, d)
		}
		if err := s.startAll(ctx, n); err != nil {
			return nil, err
		}
		l, err := s.pace(ctx, pacedRate, s.paced)
		if err != nil {
			return nil, err
		}
		d := medianOf(all)
		figures = append(figures,
			figure{
				deliveries, "", fmt.Sprintf("%.0f/s; CPU time per delivery %v; limit of the database %.0f/s", d.rate, d, d.limit()), true,
			},
			figure{paced, "p99 ≤ 10 ms", l.String(), l.p99 <= 10*time.Millisecond},
		)
	}
	return figures, nil
}

// limit returns the deliveries per second at which the database would use all CPUs of this machine.
func (d drained) limit() float64 {
	if d.database == 0 {
		return 0
	}
	return float64(runtime.NumCPU()) * float64(time.Second) / float64(d.database)
}

// startAll starts daemons until n run, and waits until they share all lanes. If n-1 daemons run, it starts one more.
// Otherwise it first stops all of them.
func (s *setup) startAll(ctx context.Context, n int) error {
	if s.running() != n-1 {
		if err := s.stopAll(); err != nil {
			return err
		}
	}
	for s.running() < n {
		if err := s.start(ctx); err != nil {
			return err
		}
	}
	return s.waitShared(ctx, n)
}

// waitShared waits until n daemons hold the same number of lanes.
func (s *setup) waitShared(ctx context.Context, n int) error {
	return s.db.until(ctx, 1, fmt.Sprintf(`SELECT CASE WHEN COUNT(*) = %d AND MIN(n) = %d THEN 1 ELSE 0 END
		FROM (SELECT COUNT(*) n FROM lanes WHERE holder IS NOT NULL GROUP BY holder) h`, n, store.Lanes/n))
}

// drainShared is like drain, but n daemons are already running when it inserts the batch.
func (s *setup) drainShared(ctx context.Context, b batch, n int) (d drained, err error) {
	if _, err := s.receiver.reset(); err != nil {
		return d, err
	}
	if err := s.startAll(ctx, n); err != nil {
		return d, err
	}
	b.urls, b.events = s.receiver.urls[accepts], 1
	if err := s.db.seed(ctx, b); err != nil {
		return d, err
	}
	if err := s.db.notify(ctx, b); err != nil {
		return d, err
	}
	if d, err = s.measureDrain(ctx, b.subjects); err != nil {
		return d, err
	}
	return d, s.stopAll()
}

// notify notifies the daemons of a batch.
func (db *database) notify(ctx context.Context, b batch) error {
	opened, err := store.Open(ctx, db.DSN, store.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }()
	var flows []store.Flow
	for _, url := range b.urls {
		flows = append(flows, store.Flow{UserID: db.userID, Origin: strings.TrimSuffix(url, "/")})
	}
	return opened.NotifyDue(ctx, flows)
}

// lanesOf returns the lanes of a holder.
func (db *database) lanesOf(ctx context.Context, holder string) (map[int]bool, error) {
	rows, err := db.SQL.QueryContext(ctx, `SELECT lane FROM lanes WHERE holder = $1`, holder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	lanes := make(map[int]bool)
	for rows.Next() {
		var lane int
		if err := rows.Scan(&lane); err != nil {
			return nil, err
		}
		lanes[lane] = true
	}
	return lanes, rows.Err()
}
