package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/avatarstudio/avatarstudio/server/bench/daemon/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

const (
	sharedPorts = 16
	alone       = "one daemon at a time" // result on SQLite
)

// frozen stops one of two daemons with SIGSTOP. It measures the latency of the events that the other daemon
// makes, separately for the origins of each daemon.
func frozen(ctx context.Context, s *scene) ([]figure, error) {
	name := fmt.Sprintf("one of two daemons is stopped for %v: ", s.frozen)
	const healthy, taken = "the other's p99", "the longest wait for what it had"
	if s.db.name == harness.SQLite {
		return []figure{{name + healthy, "", alone, true}, {name + taken, "", alone, true}}, nil
	}
	if err := s.start(ctx, "--render-workers", "0"); err != nil { // otherwise its renderings would be late, too
		return nil, err
	}
	if err := s.shared(ctx, 1); err != nil {
		return nil, err
	}
	var holder string
	if err := s.db.sql.QueryRowContext(ctx, `SELECT id FROM holders`).Scan(&holder); err != nil {
		return nil, err
	}
	if err := s.startAll(ctx, 2); err != nil {
		return nil, err
	}
	lanes, err := s.db.lanesOf(ctx, holder)
	if err != nil {
		return nil, err
	}
	stopped := s.daemons[0]
	if err := stopped.Signal(syscall.SIGSTOP); err != nil {
		return nil, err
	}
	events := int(s.frozen.Seconds() * pacedRate)
	err = s.d.create(ctx, pacedRate, events, s.in.urls[accepts])
	if contErr := stopped.Signal(syscall.SIGCONT); err == nil {
		err = contErr
	}
	if err != nil {
		return nil, err
	}
	t, err := s.in.all(events, maxWait, true)
	if err != nil {
		return nil, err
	}
	made, err := s.db.made(ctx)
	if err != nil {
		return nil, err
	}
	var others, its []float64
	for id, at := range t.Arrivals {
		if took := float64(at.Sub(made[id].at)); lanes[store.Lane(made[id].origin)] {
			its = append(its, took)
		} else {
			others = append(others, took)
		}
	}
	p99, longest := time.Duration(harness.Percentile(others, 99)), time.Duration(harness.Percentile(its, 100))
	return []figure{
		{name + healthy, "≤ 1 s", harness.Milliseconds(p99), p99 <= time.Second},
		{name + taken, "≤ 5 s", fmt.Sprintf("%.2f s", longest.Seconds()), longest <= 5*time.Second},
	}, s.db.delivered(ctx)
}

// daemons measures throughput and latency with several daemons on one database.
func daemons(ctx context.Context, s *scene) (figures []figure, err error) {
	for _, n := range s.plan.daemons {
		name := plural(n, "daemon") + " on one database"
		deliveries, paced := name+": deliveries", name+fmt.Sprintf(": commit to receiver at %d events/s", pacedRate)
		if s.db.name == harness.SQLite {
			figures = append(figures, figure{deliveries, "", alone, true}, figure{paced, "p99 ≤ 10 ms", alone, true})
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
				deliveries, "", fmt.Sprintf("%.0f/s; CPU each: %v; the database alone has CPU for %.0f/s", d.rate, d, d.limit()), true,
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

// startAll makes n daemons run that share all lanes. If n-1 daemons run, it starts one more. Otherwise it
// stops all of them first.
func (s *scene) startAll(ctx context.Context, n int) error {
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
	return s.shared(ctx, n)
}

// shared waits until n daemons hold the same number of lanes.
func (s *scene) shared(ctx context.Context, n int) error {
	return s.db.until(ctx, 1, fmt.Sprintf(`SELECT CASE WHEN COUNT(*) = %d AND MIN(n) = %d THEN 1 ELSE 0 END
		FROM (SELECT COUNT(*) n FROM lanes WHERE holder IS NOT NULL GROUP BY holder) h`, n, store.Lanes/n))
}

// drainShared is like drain, but with n daemons that are running when the batch is inserted.
func (s *scene) drainShared(ctx context.Context, b batch, n int) (d drained, err error) {
	if _, err := s.in.forget(); err != nil {
		return d, err
	}
	if err := s.startAll(ctx, n); err != nil {
		return d, err
	}
	b.urls, b.events = s.in.urls[accepts], 1
	if err := s.db.seed(ctx, b); err != nil {
		return d, err
	}
	if err := s.db.announce(ctx, b); err != nil {
		return d, err
	}
	if d, err = s.measureDrain(ctx, b.subjects); err != nil {
		return d, err
	}
	return d, s.stopAll()
}

// announce notifies the daemons of a batch.
func (db *database) announce(ctx context.Context, b batch) error {
	opened, err := store.Open(ctx, db.dsn, store.Config{})
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
	rows, err := db.sql.QueryContext(ctx, `SELECT lane FROM lanes WHERE holder = $1`, holder)
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
