package store

import (
	"cmp"
	"context"
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
				p.ID, p.WorkspaceID, p.UserID, p.CreatedAt.UnixMicro(), flag(p.Published), p.Document)
			if err != nil {
				return fmt.Errorf("project %d: %w", index, err)
			}
		}
		return nil
	})
	return index, err
}

// Projects merges the first imported projects and the first subjects, each read from an index. Most lists have only one
// of them, are short, and take one query, which also checks the membership.
func (s *Store) Projects(
	ctx context.Context, workspaceID, userID string, after studio.Position, limit int,
) (projects []studio.Project, more bool, err error) {
	const isMember = ` AND EXISTS (SELECT 1 FROM members WHERE workspace_id = $1 AND user_id = $2)`
	args, older, id := []any{workspaceID, userID, limit + 1}, "", s.engine.bytewise("s.id")
	if after.ID != "" {
		args, older = append(args, after.CreatedAt.UnixMicro(), after.ID), ` AND (s.created_at, `+id+`) < ($4, $5)`
	}
	selected := `s.workspace_id = $1` + older + isMember + ` ORDER BY s.created_at DESC, ` + id + ` DESC ` + limitTo("$3")
	imported, subjects := page[studio.Project]{limit: limit}, page[studio.Project]{limit: limit}
	mixed := false
	p := studio.Project{WorkspaceID: workspaceID}
	columns := []any{&p.ID, &p.UserID, instant{&p.CreatedAt}, &p.Published, &p.Document, &mixed}
	err = imported.query(ctx, s.engine, func(scan func(...any) error) (studio.Project, int, error) {
		err := scan(columns...)
		return p, len(p.Document), err
	}, `SELECT s.id, s.user_id, s.created_at, s.published <> 0, s.document, EXISTS (SELECT 1 FROM subjects WHERE workspace_id = $1 AND deleted_at IS NULL) FROM projects s WHERE `+
		selected, args...)
	if err != nil || len(imported.rows) > 0 && !mixed {
		return imported.rows, imported.more, err
	}
	err = subjects.query(ctx, s.engine, func(scan func(...any) error) (studio.Project, int, error) {
		subject, used := studio.Subject{WorkspaceID: workspaceID}, int64(0)
		err := scan(&subject.ID, &subject.UserID, instant{&subject.CreatedAt}, &subject.Kind, &subject.AvatarID, &subject.Title, &subject.Request,
			&subject.Status, &subject.Progress, &subject.FailureReason, jsonText{&subject.Rendering}, jsonText{&subject.Project},
			instant{&subject.UpdatedAt}, &used)
		return studio.NewProject(&subject, used), len(subject.Request) + textLength(subject.Title), err
	}, `SELECT s.id, s.user_id, s.created_at, s.kind, COALESCE(s.avatar_id, ''), s.title, s.request, s.status, s.progress, s.failure_reason,
		s.rendering, s.project, s.updated_at, COALESCE((SELECT c.video_seconds FROM event_clocks c WHERE c.user_id = s.user_id), 0) FROM subjects s WHERE s.deleted_at IS NULL AND `+
		selected, args...)
	switch {
	case err != nil:
		return nil, false, err
	case len(imported.rows) > 0:
		projects, more = mergePages(imported, subjects)
		return projects, more, nil
	case len(subjects.rows) > 0:
		return subjects.rows, subjects.more, nil
	}
	return nil, false, checkMember(ctx, s.engine, workspaceID, userID)
}

// mergePages returns the page that begins the list of all projects. If rows follow those of one page, it ends with the
// last of them, because others may be between them and the next ones of the other page.
func mergePages(a, b page[studio.Project]) (merged []studio.Project, more bool) {
	newestFirst := func(p, q studio.Project) int {
		return cmp.Or(q.CreatedAt.Compare(p.CreatedAt), cmp.Compare(q.ID, p.ID))
	}
	merged, more = slices.Concat(a.rows, b.rows), a.more || b.more
	slices.SortFunc(merged, newestFirst)
	for _, half := range []page[studio.Project]{a, b} {
		if half.more {
			last, _ := slices.BinarySearchFunc(merged, half.rows[len(half.rows)-1], newestFirst)
			merged = merged[:last+1]
		}
	}
	if len(merged) > a.limit {
		merged, more = merged[:a.limit], true
	}
	return merged, more
}

func (s *Store) IsImported(ctx context.Context, userID, workspaceID, id string) (bool, error) {
	return exists(ctx, s.engine, `SELECT 1 FROM projects p JOIN members m ON m.workspace_id = p.workspace_id
		WHERE p.id = $1 AND m.user_id = $2 AND (p.workspace_id = $3 OR $3 = '')`, id, userID, workspaceID)
}

func (s *Store) VideoSeconds(ctx context.Context, userID string) (seconds int64, err error) {
	err = queryRow(ctx, s.engine, []any{&seconds}, `SELECT video_seconds FROM event_clocks WHERE user_id = $1`, userID)
	return seconds, orZero(err) // the user may have no events yet
}

// InstallationID returns the UUID of the installation. Copies of a database have the same.
func (s *Store) InstallationID(ctx context.Context) (id string, err error) {
	err = queryRow(ctx, s.engine, []any{&id}, `SELECT id FROM installation`)
	return id, err
}

// checkMember returns studio.ErrForbidden if a user is not a member of a workspace.
func checkMember(ctx context.Context, q querier, workspaceID, userID string) error {
	found, err := exists(ctx, q, `SELECT 1 FROM members WHERE workspace_id = $1 AND user_id = $2`, workspaceID, userID)
	if err == nil && !found {
		err = studio.ErrForbidden
	}
	return err
}
