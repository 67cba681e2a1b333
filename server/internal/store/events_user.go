package store

import (
	"context"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// UserEvents returns up to limit events of filter.UserID that the filter selects, newest first. It starts after
// a position, or at the newest for the zero Position.
func (s *Store) UserEvents(ctx context.Context, filter studio.EventFilter, after studio.Position, limit int) ([]studio.EventRecord, error) {
	where := eventConditions(filter)
	if after.ID != "" {
		where.add("(e.created_at, e.id) < (?, ?)", micros(after.CreatedAt), after.ID)
	}
	return s.events(ctx, where, "e.created_at DESC, e.id DESC", limit)
}

// CountReplay returns how many events [Store.Replay] would replay, up to limit.
func (s *Store) CountReplay(ctx context.Context, filter studio.EventFilter, limit int) (count int, err error) {
	filter.State = studio.EventExhausted
	where := eventConditions(filter)
	rows := where.parameter(limit)
	err = queryRow(ctx, s.engine, []any{&count}, `SELECT COUNT(*) FROM (SELECT 1 FROM events e WHERE `+where.sql+
		` AND e.reason <> 'deleted' LIMIT `+rows+` + 0) AS chosen`, where.args...)
	return count, err
}
