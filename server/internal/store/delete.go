package store

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (s *Store) DeleteSubject(
	ctx context.Context, userID, workspaceID string, kind studio.Kind, id string, now, repeatAfter time.Time,
) (erased studio.Erased, err error) {
	var flows []Flow
	err = s.write(ctx, func(tx transaction) error {
		var uploads []string
		erased, flows = studio.Erased{}, nil
		var deleted time.Time
		err := queryRow(ctx, tx, []any{instant{&deleted}},
			`SELECT deleted_at FROM subjects WHERE id = $1 AND user_id = $2 AND kind = $3 AND (workspace_id = $4 OR $4 = '')`+tx.forUpdate(),
			id, userID, string(kind), workspaceID)
		switch {
		case err != nil:
			return err
		case !deleted.IsZero() && !deleted.After(repeatAfter):
			return studio.ErrNotFound
		}
		err = tx.query(ctx, func(scan func(...any) error) error {
			var id string
			var request []byte
			var flow Flow
			var other bool
			err := scan(&id, &flow.UserID, &flow.Origin, &request, &other)
			if other && err == nil {
				err = studio.ErrOtherWorkspace
			}
			erased.IDs, flows = append(erased.IDs, id), append(flows, flow)
			uploads = append(uploads, studio.UploadIDs(request)...)
			return err
		}, `SELECT id, user_id, origin, request, $2 <> '' AND COALESCE(workspace_id, '') <> $2 AND deleted_at IS NULL
			FROM subjects WHERE id = $1 OR avatar_id = $1`, id, workspaceID)
		if err != nil || !deleted.IsZero() {
			return err
		}
		if err := tx.execAll(ctx, eraseSubjects(tx, `(id = $1 OR avatar_id = $1)`, id, now, ``)); err != nil {
			return err
		}
		erased.Uploads, err = deleteUploads(ctx, tx, userID, uploads)
		return err
	})
	if err == nil {
		s.signalDeleted(flows) //nolint:contextcheck // the deletion is committed even if ctx has ended
	}
	return erased, err
}

// eraseSubjects returns the statements that erase the subjects that match a condition on $1, and then end their events,
// so that no concurrent update adds another event. set sets further columns.
func eraseSubjects(sql dialect, condition, value string, now time.Time, set string) []statement {
	erased := `SELECT id FROM subjects WHERE ` + condition + ` AND deleted_at = $2`
	return []statement{
		{
			`UPDATE subjects SET deleted_at = $2, title = NULL, project = '{}', request = '{}', request_id = '', trace_parent = '', failure_reason = '',
			rendering = '{}'` + set + ` WHERE ` + condition + ` AND deleted_at IS NULL`,
			[]any{value, micros(now)},
		},
		{`UPDATE events SET state = 'exhausted', ended_at = COALESCE(ended_at, $2), reason = $3 WHERE state <> 'delivered'
			AND subject_id IN (` + erased + `)`, []any{value, micros(now), string(studio.ReasonDeleted)}},
		{`DELETE FROM deliveries WHERE ` + sql.in("subject_id", erased), []any{value, micros(now)}},
		{`DELETE FROM renderings WHERE ` + sql.in("subject_id", erased), []any{value, micros(now)}},
	}
}

// deleteUploads deletes those uploads of a user that no subject uses, and returns their keys. It considers
// only subjects that are not older than the upload by more than one hour, the largest difference between the
// clocks of daemons.
func deleteUploads(ctx context.Context, tx transaction, userID string, ids []string) (keys []string, err error) {
	for _, id := range ids {
		deleted, err := queryRows(ctx, tx, oneColumn[string], `DELETE FROM uploads WHERE id = $1 AND user_id = $2 AND NOT EXISTS (SELECT 1 FROM subjects s
			WHERE s.user_id = $2 AND s.kind IN ('avatar', 'video', 'lipsync') AND s.created_at > uploads.created_at - 3600000000
			AND s.deleted_at IS NULL AND s.request LIKE '%' || $1 || '%') RETURNING key`, id, userID)
		if err != nil {
			return nil, err
		}
		keys = append(keys, deleted...)
	}
	return keys, nil
}

func (s *Store) SetProgress(ctx context.Context, id string, percent int, stage string, readyAt time.Time) error {
	return s.exec(ctx, `UPDATE subjects SET progress = CASE WHEN progress < $2 THEN $2 ELSE progress END, stage = $3, ready_at = $4
		WHERE id = $1 AND status = 'processing'`, id, percent, stage, micros(readyAt))
}
