package store

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// ReasonDeleted is why an event of a deleted subject has ended. Such an event is not replayed.
const ReasonDeleted Reason = "deleted"

func (s *Store) DeleteSubject(
	ctx context.Context, userID string, kind studio.Kind, id string, now, again time.Time,
) (ids []string, err error) {
	var lines []Line
	err = s.write(ctx, func(tx transaction) error {
		ids, lines = nil, nil
		var deleted time.Time
		err := one(ctx, tx, []any{instant{&deleted}},
			`SELECT deleted_at FROM subjects WHERE id = $1 AND user_id = $2 AND kind = $3`+tx.forUpdate(), id, userID, string(kind))
		switch {
		case err != nil:
			return err
		case !deleted.IsZero() && !deleted.After(again):
			return studio.ErrNotFound
		}
		err = tx.query(ctx, func(scan func(...any) error) error {
			var id string
			var line Line
			err := scan(&id, &line.UserID, &line.Origin)
			ids, lines = append(ids, id), append(lines, line)
			return err
		}, `SELECT id, user_id, origin FROM subjects WHERE id = $1 OR avatar_id = $1`, id)
		if err != nil || !deleted.IsZero() {
			return err
		}
		_, err = tx.execAll(ctx, []statement{
			{`UPDATE subjects SET deleted_at = $2, title = NULL, request = '{}', failure_reason = '', rendering = '{}',
				render_at = NULL, render_by = NULL, deliver_at = NULL WHERE (id = $1 OR avatar_id = $1) AND deleted_at IS NULL`, []any{id, micros(now)}},
			{`UPDATE events SET state = 'exhausted', ended_at = COALESCE(ended_at, $2), due_at = NULL, reason = $3 WHERE state <> 'delivered'
				AND subject_id IN (SELECT id FROM subjects WHERE id = $1 OR avatar_id = $1)`, []any{id, micros(now), string(ReasonDeleted)}},
		})
		return err
	})
	if err == nil {
		s.signalDeleted(lines) //nolint:contextcheck // it is done, whether the caller waits or not
	}
	return ids, err
}

// SetProgress raises the progress of a subject that is processing.
func (s *Store) SetProgress(ctx context.Context, id string, percent int) error {
	return s.write(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, `UPDATE subjects SET progress = $2
			WHERE id = $1 AND status = 'processing' AND progress < $2`, id, percent)
		return err
	})
}
