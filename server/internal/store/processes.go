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
	Lanes      int           // out of [Lanes], for whose events it delivers; 0 on SQLite
}

// SeeDaemon stores that a daemon runs. Its Seen, Renderings and Lanes are not used.
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
	now, lanes := now(s.engine), `0`
	if s.Shared() {
		lanes = `(SELECT count(*) FROM lanes WHERE split_part(holder, '` + leaseSeparator + `', 1) = daemons.id)`
	}
	return queryRows(ctx, s.engine, func(d *Daemon) []any {
		return []any{&d.ID, &d.Host, &d.Version, instant{&d.Started}, interval{&d.Seen}, &d.Renderings, &d.Lanes}
	}, `SELECT id, host, version, started_at, `+now+` - seen_at, COALESCE(running.n, 0), `+lanes+` FROM daemons
		LEFT JOIN (SELECT process_id, COUNT(*) AS n FROM renderings WHERE process_id IS NOT NULL AND leased_until >= `+now+`
			GROUP BY process_id) running ON running.process_id = id
		ORDER BY started_at DESC, id `+limitTo("$1"), maxDaemons)
}
