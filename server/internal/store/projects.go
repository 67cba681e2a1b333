package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (s *Store) ImportProjects(ctx context.Context, projects []studio.Project) (index int, err error) {
	// The projects are inserted in the order of their IDs, so that concurrent imports do not deadlock.
	order := make([]int, len(projects))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(projects[a].ID, projects[b].ID) })
	err = s.write(ctx, func(tx transaction) error {
		for _, index = range order {
			p := projects[index]
			_, err := tx.exec(ctx, `INSERT INTO projects (id, workspace_id, user_id, created_at, published, document)
				VALUES ($1, $2, $3, $4, $5, $6)`,
				p.ID, p.WorkspaceID, p.UserID, p.CreatedAt.UnixMicro(), flag(p.Published), string(p.Document))
			if err != nil {
				return fmt.Errorf("project %d: %w", index, err)
			}
		}
		return nil
	})
	return index, err
}

// projectColumns are the columns of imported projects and of subjects s that are projects, for projectDest.
const (
	importedColumns = `id, user_id, created_at, published <> 0, document, '', '', NULL, '{}', '', 0, '', '{}', '{}', created_at, 0`
	projectColumns  = `s.id, s.user_id, s.created_at, FALSE, '', s.kind, COALESCE(s.avatar_id, ''), s.title, s.request, s.status, s.progress,
		s.failure_reason, s.rendering, s.project, s.updated_at,
		COALESCE((SELECT c.video_seconds FROM event_clocks c WHERE c.user_id = s.user_id), 0)`
)

func projectDest(p *studio.Project, s *studio.Subject) []any {
	return []any{
		&p.ID, &p.UserID,
		instant{&p.CreatedAt},
		&p.Published, (*[]byte)(&p.Document), &s.Kind, &s.AvatarID, &s.Title, &s.Request,
		&s.Status, &s.Progress, &s.FailureReason,
		jsonText{&s.Rendering},
		jsonText{&s.Project},
		instant{&s.UpdatedAt},
		&p.VideoSeconds,
	}
}

// Projects merges the first imported projects and the first subjects, each read from an index. It checks the membership in
// the same query, because most lists are short and a query has a fixed cost.
func (s *Store) Projects(
	ctx context.Context, workspaceID, userID string, after studio.Position, limit int,
) (projects []studio.Project, more bool, err error) {
	args, older := []any{workspaceID, userID, limit + 1}, ""
	subjectID := s.engine.bytewise("s.id")
	olderSubject := ""
	if after.ID != "" {
		args = append(args, after.CreatedAt.UnixMicro(), after.ID)
		older, olderSubject = ` AND (created_at, id) < ($4, $5)`, ` AND (s.created_at, `+subjectID+`) < ($4, $5)`
	}
	const isMember = ` AND EXISTS (SELECT 1 FROM members WHERE workspace_id = $1 AND user_id = $2)`
	page := page[studio.Project]{limit: limit}
	err = page.query(ctx, s.engine, func(scan func(...any) error) (studio.Project, int, error) {
		p, subject := studio.Project{WorkspaceID: workspaceID}, studio.Subject{WorkspaceID: workspaceID}
		err := scan(projectDest(&p, &subject)...)
		if subject.Kind != "" {
			subject.ID, subject.UserID, subject.CreatedAt = p.ID, p.UserID, p.CreatedAt
			p = studio.NewProject(&subject, p.VideoSeconds)
		}
		return p, len(p.Document) + len(subject.Request) + textLength(subject.Title), err
	}, `SELECT * FROM (SELECT `+importedColumns+` FROM projects WHERE workspace_id = $1`+older+isMember+`
			ORDER BY created_at DESC, id DESC LIMIT $3 + 0) imported
		UNION ALL SELECT * FROM (SELECT `+projectColumns+` FROM subjects s WHERE s.workspace_id = $1`+olderSubject+isMember+`
			ORDER BY s.created_at DESC, `+subjectID+` DESC LIMIT $3 + 0) subjects
		ORDER BY 3 DESC, 1 DESC LIMIT $3 + 0`, args...)
	if err != nil || len(page.rows) > 0 {
		return page.rows, page.more, err
	}
	return nil, false, checkMember(ctx, s.engine, workspaceID, userID)
}

func (s *Store) IsImported(ctx context.Context, userID, id string) (bool, error) {
	var found int
	err := queryRow(ctx, s.engine, []any{&found}, `SELECT 1 FROM projects p JOIN members m ON m.workspace_id = p.workspace_id
		WHERE p.id = $1 AND m.user_id = $2`, id, userID)
	if errors.Is(err, studio.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (s *Store) VideoSeconds(ctx context.Context, userID string) (seconds int64, err error) {
	err = queryRow(ctx, s.engine, []any{&seconds}, `SELECT video_seconds FROM event_clocks WHERE user_id = $1`, userID)
	if errors.Is(err, studio.ErrNotFound) { // the user has no events yet
		err = nil
	}
	return seconds, err
}

// InstallationID returns the UUID of the installation. Copies of a database have the same.
func (s *Store) InstallationID(ctx context.Context) (id string, err error) {
	err = queryRow(ctx, s.engine, []any{&id}, `SELECT id FROM installation`)
	return id, err
}

// checkMember returns studio.ErrForbidden if a user is not a member of a workspace.
func checkMember(ctx context.Context, q querier, workspaceID, userID string) error {
	var found int
	err := queryRow(ctx, q, []any{&found},
		`SELECT 1 FROM members WHERE workspace_id = $1 AND user_id = $2`, workspaceID, userID)
	if errors.Is(err, studio.ErrNotFound) {
		err = studio.ErrForbidden
	}
	return err
}
