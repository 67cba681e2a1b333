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
			published := 0
			if p.Published {
				published = 1
			}
			_, err := tx.exec(ctx, `INSERT INTO projects (id, workspace_id, user_id, created_at, published, document)
				VALUES ($1, $2, $3, $4, $5, $6)`,
				p.ID, p.WorkspaceID, p.UserID, p.CreatedAt.UnixMicro(), published, string(p.Document))
			if err != nil {
				return fmt.Errorf("project %d: %w", index, err)
			}
		}
		return nil
	})
	return index, err
}

// Projects checks the membership in the same query, because most lists are short and a query has a fixed cost.
func (s *Store) Projects(
	ctx context.Context, workspaceID, userID string, after studio.Position, limit int,
) (projects []studio.Project, more bool, err error) {
	args, older := []any{workspaceID, userID, limit + 1}, ""
	if after.ID != "" {
		args, older = append(args, after.CreatedAt.UnixMicro(), after.ID), ` AND (created_at, id) < ($4, $5)`
	}
	page := page[studio.Project]{limit: limit}
	err = page.query(ctx, s.engine, func(scan func(...any) error) (studio.Project, int, error) {
		p := studio.Project{WorkspaceID: workspaceID}
		err := scan(&p.ID, &p.UserID, instant{&p.CreatedAt}, &p.Published, (*[]byte)(&p.Document))
		return p, len(p.Document), err
	}, `SELECT id, user_id, created_at, published <> 0, document FROM projects
		WHERE workspace_id = $1`+older+` AND EXISTS (SELECT 1 FROM members WHERE workspace_id = $1 AND user_id = $2)
		ORDER BY created_at DESC, id DESC LIMIT $3 + 0`, args...)
	if err != nil || len(page.rows) > 0 {
		return page.rows, page.more, err
	}
	return nil, false, checkMember(ctx, s.engine, workspaceID, userID)
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
