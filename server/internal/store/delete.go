package store

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// taskDelay is when a daemon goes on with an erasure, unless the process that began it has finished it.
const taskDelay = time.Minute

// DeleteSubject erases up to batchRows subjects. If the avatar has more videos, it adds a task, which is due for a
// daemon after a minute.
func (s *Store) DeleteSubject(
	ctx context.Context, userID, workspaceID string, kind studio.Kind, id string, now, repeatAfter time.Time,
) (erased studio.Erased, err error) {
	var flows []Flow
	err = s.write(ctx, func(tx transaction) error {
		erased, flows = studio.Erased{}, nil
		var deleted time.Time
		flow := Flow{UserID: userID}
		err := queryRow(ctx, tx, []any{instant{&deleted}, &flow.Origin},
			`SELECT deleted_at, origin FROM subjects WHERE id = $1 AND user_id = $2 AND kind = $3 AND (workspace_id = $4 OR $4 = '')`+tx.forUpdate(),
			id, userID, string(kind), workspaceID)
		switch {
		case err != nil:
			return err
		case !deleted.IsZero() && !deleted.After(repeatAfter):
			return studio.ErrNotFound
		case !deleted.IsZero():
			if erased.More, err = exists(ctx, tx, `SELECT 1 FROM tasks WHERE id = $1`, id); err == nil {
				erased.IDs, err = queryRows(ctx, tx, oneColumn[string], `SELECT id FROM subjects WHERE id = $1 OR avatar_id = $1 `+limitTo("$2"), id, batchRows)
			}
			return err
		}
		if workspaceID != "" {
			other, err := exists(ctx, tx, `SELECT 1 FROM subjects
				WHERE avatar_id = $1 AND deleted_at IS NULL AND COALESCE(workspace_id, '') <> $2 LIMIT 1`, id, workspaceID)
			if other {
				err = studio.ErrOtherWorkspace
			}
			if err != nil {
				return err
			}
		}
		if erased.Uploads, err = eraseSubjects(ctx, tx, []string{id}, userID, now, ""); err != nil || kind != studio.Avatar {
			erased.IDs, flows = []string{id}, []Flow{flow}
			return err
		}
		t := task{id: id, kind: eraseAvatar, after: studio.Position{CreatedAt: now.Add(100 * 365 * 24 * time.Hour)}, dueAt: now.Add(taskDelay)}
		videos, videoFlows, err := t.eraseVideos(ctx, tx, now)
		erased.IDs, erased.Uploads = append(videos.IDs, id), append(erased.Uploads, videos.Uploads...)
		erased.More, flows = videos.More, append(videoFlows, flow)
		if err == nil && erased.More {
			err = tx.execAll(ctx, []statement{t.add()})
		}
		return err
	})
	if err == nil && len(flows) > 0 {
		s.signalFlows(SignalDeleted, flows) //nolint:contextcheck // the deletion is committed even if ctx has ended
	}
	return erased, err
}

// eraseVideos erases the next videos of a deleted avatar, the newest first, and moves the task to the last of them.
func (t *task) eraseVideos(ctx context.Context, tx transaction, now time.Time) (erased studio.Erased, flows []Flow, err error) {
	userID, rows := "", 0
	err = tx.query(ctx, func(scan func(...any) error) error {
		var id string
		var flow Flow
		var deleted time.Time
		err := scan(&id, &flow.UserID, &flow.Origin, instant{&deleted}, instant{&t.after.CreatedAt})
		t.after.ID, userID, rows = id, flow.UserID, rows+1
		if deleted.IsZero() {
			erased.IDs, flows = append(erased.IDs, id), append(flows, flow)
		}
		return err
	}, `SELECT id, user_id, origin, deleted_at, created_at FROM subjects WHERE avatar_id = $1 AND (created_at, id) < ($2, $3)
		ORDER BY created_at DESC, id DESC `+limitTo("$4")+tx.forUpdate(), t.id, t.after.CreatedAt.UnixMicro(), t.after.ID, batchRows)
	if err == nil {
		erased.More = rows == batchRows
		erased.Uploads, err = eraseSubjects(ctx, tx, erased.IDs, userID, now, "")
	}
	return erased, flows, err
}

// eraseSubjects erases subjects of a user that are not deleted. It deletes their uploads that no other subject uses,
// and returns their keys. The transaction has locked the subjects, so that no concurrent update adds an event that does
// not end. set sets further columns.
func eraseSubjects(ctx context.Context, tx transaction, ids []string, userID string, now time.Time, set string) (uploads []string, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var where conditions
	all := where.elements(tx, ids)
	err = tx.execAll(ctx, []statement{
		{
			`UPDATE subjects SET deleted_at = $2, title = NULL, project = '{}', request = '{}', request_id = '', trace_parent = '', failure_reason = '',
			rendering = '{}'` + set + ` WHERE ` + tx.in("id", all), append(where.args, micros(now)),
		},
		{
			`UPDATE events SET state = 'exhausted', ended_at = COALESCE(ended_at, $2), reason = $3 WHERE state <> 'delivered'
			AND ` + tx.in("subject_id", all), append(where.args, micros(now), string(studio.ReasonDeleted)),
		},
		{`DELETE FROM deliveries WHERE ` + tx.in("subject_id", all), where.args},
		{`DELETE FROM renderings WHERE ` + tx.in("subject_id", all), where.args},
	})
	if err != nil {
		return nil, err
	}
	used, err := queryRows(ctx, tx, oneColumn[string], `DELETE FROM upload_uses WHERE `+tx.in("subject_id", all)+` RETURNING upload_id`, where.args...)
	if err != nil || len(used) == 0 {
		return nil, err
	}
	where = conditions{args: []any{userID}}
	return queryRows(ctx, tx, oneColumn[string], `DELETE FROM uploads WHERE user_id = $1 AND `+tx.in("id", where.elements(tx, used))+`
		AND NOT EXISTS (SELECT 1 FROM upload_uses u WHERE u.upload_id = uploads.id) RETURNING key`, where.args...)
}

// uploadUse is an upload in the request of a subject of a user.
type uploadUse struct{ subjectID, userID, uploadID string }

// insertUses leaves the uploads of other users out: who knows the URL of a file must not keep it from being erased.
//
//nolint:gochecknoglobals // a constant
var insertUses = newRowStatement(`subject_id text, user_id text, upload_id text`,
	func(u uploadUse) []any { return []any{u.subjectID, u.userID, u.uploadID} }, func(dialect) string {
		return `INSERT INTO upload_uses (subject_id, upload_id) SELECT r.subject_id, u.id FROM r JOIN uploads u ON u.id = r.upload_id AND u.user_id = r.user_id`
	})

// maxUses bounds the uploads of a request that are its inputs. Further ones are in members that are not known.
const maxUses = 10

// uploadUses returns the uploads in the requests of new subjects.
func uploadUses(group []*creation) (uses []uploadUse) {
	for _, c := range group {
		ids := studio.UploadIDs(c.subject.Request)
		for _, id := range ids[:min(maxUses, len(ids))] {
			uses = append(uses, uploadUse{c.subject.ID, c.subject.UserID, id})
		}
	}
	return uses
}

func (s *Store) SetProgress(ctx context.Context, id string, percent int, stage string, readyAt time.Time) error {
	return s.exec(ctx, `UPDATE subjects SET progress = CASE WHEN progress < $2 THEN $2 ELSE progress END, stage = $3, ready_at = $4
		WHERE id = $1 AND status = 'processing'`, id, percent, stage, micros(readyAt))
}
