package store

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// UserEvents returns up to limit events of filter.UserID that the filter selects, newest first. It starts after
// a position, or at the newest for the zero Position.
func (s *Store) UserEvents(ctx context.Context, filter EventFilter, after studio.Position, limit int) (all []Event, err error) {
	states := []EventState{filter.State}
	if filter.State == NoState && filter.SubjectID == "" {
		states = []EventState{Pending, Delivered, Exhausted} // for each state, an index has the order
	}
	for _, filter.State = range states {
		where := filter.where()
		if after.ID != "" {
			where.add("(e.created_at, e.id) < (?, ?)", micros(after.CreatedAt), after.ID)
		}
		events, err := s.events(ctx, where, "e.created_at DESC, e.id DESC", limit)
		if err != nil {
			return nil, err
		}
		all = append(all, events...)
	}
	slices.SortFunc(all, func(a, b Event) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
	})
	return all[:min(limit, len(all))], nil
}

// CountReplay returns how many events [Store.Replay] would replay, up to limit.
func (s *Store) CountReplay(ctx context.Context, filter EventFilter, limit int) (count int, err error) {
	filter.State = Exhausted
	where := filter.where()
	rows := where.parameter(limit)
	err = queryRow(ctx, s.engine, []any{&count}, `SELECT COUNT(*) FROM (SELECT 1 FROM events e WHERE `+where.sql+
		` AND e.reason <> 'deleted' LIMIT `+rows+` + 0) AS chosen`, where.args...)
	return count, err
}
