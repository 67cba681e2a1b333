package store

import (
	"context"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (s *Store) Subject(ctx context.Context, id string) (found studio.Subject, err error) {
	err = queryRow(ctx, s.engine, subjectDest(&found), `SELECT `+subjectColumns+` FROM subjects s WHERE s.id = $1 AND `+notDeleted, id)
	return found, err
}

func (s *Store) ActiveSubject(ctx context.Context, id string) (found studio.Subject, err error) {
	err = queryRow(ctx, s.engine, subjectDest(&found), `SELECT `+subjectColumns+` FROM subjects s WHERE s.id = $1 AND `+notDeleted+`
		AND (SELECT u.disabled_at FROM users u WHERE u.id = s.user_id) IS NULL`, id)
	return found, err
}

func (s *Store) CreationsInProgress(ctx context.Context, userID string) (n int, err error) {
	err = queryRow(ctx, s.engine, []any{&n}, `SELECT COUNT(*) FROM renderings WHERE user_id = $1`, userID)
	return n, err
}

// subjectColumns is the columns of subjects s that subjectDest stores. The subqueries, unlike a join, leave the planner
// of PostgreSQL no choice but to find a rendering by its subject.
const subjectColumns = `s.id, s.kind, s.user_id, COALESCE(s.avatar_id, ''), (SELECT a.title FROM subjects a WHERE a.id = s.avatar_id),
	s.title, s.request, s.webhook_url, s.status, s.consent, s.failure_reason, s.progress, s.stage, s.ready_at, s.rendering,
	s.created_at, s.updated_at, s.sequence, (SELECT due_at FROM renderings WHERE subject_id = s.id), s.render_tries, s.request_id, s.trace_parent,
	(SELECT process_id FROM renderings WHERE subject_id = s.id) IS NOT NULL, COALESCE(s.workspace_id, ''), s.project`

func subjectDest(s *studio.Subject) []any {
	created, updated, renderAt, readyAt := instant{&s.CreatedAt}, instant{&s.UpdatedAt}, instant{&s.RenderAt}, instant{&s.ReadyAt}
	rendering := jsonText{&s.Rendering}
	return []any{
		&s.ID, &s.Kind, &s.UserID, &s.AvatarID, &s.AvatarTitle, &s.Title, &s.Request, &s.WebhookURL, &s.Status, &s.Consent,
		&s.FailureReason, &s.Progress, &s.Stage, readyAt, rendering, created, updated, &s.Sequence, renderAt,
		&s.RenderTries, &s.RequestID, &s.TraceParent, &s.Started, &s.WorkspaceID,
		jsonText{&s.Project},
	}
}

// notDeleted is the SQL condition that a subject s which is found by its ID is not deleted. No partial index has this
// condition: before its first analysis, PostgreSQL expects so few rows with deleted_at IS NULL that it would read all
// of subjects_newest for several IDs.
const notDeleted = `COALESCE(s.deleted_at, 0) = 0`

func (s *Store) Subjects(
	ctx context.Context, filter studio.SubjectFilter, after studio.Position, limit int,
) (subjects []studio.Subject, more bool, err error) {
	var where conditions
	where.add(`s.user_id = ? AND s.kind = ? AND s.deleted_at IS NULL`, filter.UserID, string(filter.Kind))
	where.filter(`s.status = ?`, string(filter.Status))
	where.filter(`s.avatar_id = ?`, filter.AvatarID)
	where.filter(`s.workspace_id = ?`, filter.WorkspaceID)
	if after.ID != "" {
		where.add(`(s.created_at, s.id) < (?, ?)`, micros(after.CreatedAt), after.ID)
	}
	rows := where.parameter(limit + 1)
	page := page[studio.Subject]{limit: limit}
	err = page.query(ctx, s.engine, func(scan func(...any) error) (studio.Subject, int, error) {
		var subject studio.Subject
		err := scan(subjectDest(&subject)...)
		return subject, len(subject.Request) + textLength(subject.Title) + textLength(subject.AvatarTitle), err
	}, `SELECT `+subjectColumns+` FROM subjects s WHERE `+where.sql+` ORDER BY s.created_at DESC, s.id DESC `+limitTo(rows), where.args...)
	return page.rows, page.more, err
}

func textLength(text *string) int {
	if text == nil {
		return 0
	}
	return len(*text)
}
