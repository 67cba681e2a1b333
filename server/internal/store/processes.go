package store

import (
	"context"
	"time"
)

const (
	// daemonRetention is how long a daemon is kept that has ended without [Store.RemoveDaemon].
	daemonRetention = 24 * time.Hour
	// maxDaemons bounds the daemons that are listed.
	maxDaemons = 1000
)

// Daemon is a process of studiod that serves or renders.
type Daemon struct {
	ID         string // see [Store.ProcessID]
	Host       string
	Version    string
	Started    time.Time
	Seen       time.Duration // since the last call of [Store.SeeDaemon]
	Renderings int           // which it runs
}

// SeeDaemon stores that a daemon runs. Its Seen and Renderings are not used.
func (s *Store) SeeDaemon(ctx context.Context, d Daemon) error {
	return s.exec(ctx, `INSERT INTO daemons (id, host, version, started_at, seen_at) VALUES ($1, $2, $3, $4, `+now(s.engine)+`)
		ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`, d.ID, d.Host, d.Version, micros(d.Started))
}

// RemoveDaemon stores that a daemon has ended.
func (s *Store) RemoveDaemon(ctx context.Context, id string) error {
	return s.exec(ctx, `DELETE FROM daemons WHERE id = $1`, id)
}

// Daemons returns the daemons, the newest first. One that was killed is among them for a day.
func (s *Store) Daemons(ctx context.Context) ([]Daemon, error) {
	now := now(s.engine)
	return queryRows(ctx, s.engine, func(d *Daemon) []any {
		return []any{&d.ID, &d.Host, &d.Version, instant{&d.Started}, interval{&d.Seen}, &d.Renderings}
	}, `SELECT id, host, version, started_at, `+now+` - seen_at, COALESCE(running.n, 0) FROM daemons
		LEFT JOIN (SELECT process_id, COUNT(*) AS n FROM renderings WHERE process_id IS NOT NULL AND leased_until >= `+now+`
			GROUP BY process_id) running ON running.process_id = id
		ORDER BY started_at DESC, id `+limitTo("$1"), maxDaemons)
}

// Process is a process that delivers.
type Process struct {
	ID   string        // see [Store.ProcessID]
	Seen time.Duration // time since its last renewal
	Has  int           // number of lanes out of [Lanes]
}

// Deliverers returns the lease holders on PostgreSQL. On SQLite it returns none, because one process makes
// all deliveries.
func (s *Store) Deliverers(ctx context.Context) ([]Process, error) {
	if !s.Shared() {
		return nil, nil
	}
	all, err := queryRows(ctx, s.engine, func(p *Process) []any { return []any{&p.ID, interval{&p.Seen}, &p.Has} }, `SELECT split_part(h.id, '`+leaseSeparator+`', 1), (extract(epoch FROM clock_timestamp() - h.seen_at) * 1000000)::bigint,
		(SELECT count(*) FROM lanes WHERE holder = h.id) FROM holders h ORDER BY h.id`)
	for i := range all {
		all[i].Seen = max(all[i].Seen, 0)
	}
	return all, err
}
