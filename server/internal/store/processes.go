package store

import (
	"context"
	"time"
)

// Process is a process that uses the database, and its current work.
type Process struct {
	ID   string
	Seen time.Duration // time since its last renewal
	Has  int           // number of renderings, or number of lanes out of [Lanes]
}

// Renderers returns the processes with running renderings.
func (s *Store) Renderers(ctx context.Context) ([]Process, error) {
	now := s.engine.now()
	return s.processes(ctx, `SELECT process_id, `+now+` - MAX(leased_until) + $1, COUNT(*) FROM renderings
		WHERE process_id IS NOT NULL AND leased_until >= `+now+` GROUP BY process_id ORDER BY process_id`, RenderLease.Microseconds())
}

// Deliverers returns the lease holders on PostgreSQL. On SQLite it returns none, because one process makes
// all deliveries.
func (s *Store) Deliverers(ctx context.Context) ([]Process, error) {
	if !s.Shared() {
		return nil, nil
	}
	return s.processes(ctx, `SELECT h.id, (extract(epoch FROM clock_timestamp() - h.seen_at) * 1000000)::bigint,
		(SELECT count(*) FROM lanes WHERE holder = h.id) FROM holders h ORDER BY h.id`)
}

func (s *Store) processes(ctx context.Context, query string, args ...any) ([]Process, error) {
	all, err := queryRows(ctx, s.engine, func(p *Process) []any { return []any{&p.ID, interval{&p.Seen}, &p.Has} }, query, args...)
	for i := range all {
		all[i].Seen = max(all[i].Seen, 0)
	}
	return all, err
}
