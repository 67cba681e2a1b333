package store

import (
	"context"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// CountReplay returns how many events [Store.Replay] would replay, up to limit.
func (s *Store) CountReplay(ctx context.Context, filter studio.EventFilter, limit int) (count int, err error) {
	filter.State = studio.EventExhausted
	where := eventConditions(filter)
	rows := where.parameter(limit)
	err = queryRow(ctx, s.engine, []any{&count}, `SELECT COUNT(*) FROM (SELECT 1 FROM events e WHERE `+where.sql+
		` AND e.reason <> 'deleted' LIMIT `+rows+` + 0) AS chosen`, where.args...)
	return count, err
}
