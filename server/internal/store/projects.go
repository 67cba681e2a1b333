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

func (s *Store) CountProjects(ctx context.Context, workspaceID, userID string) (counts studio.ProjectCounts, err error) {
	err = queryRow(ctx, s.engine, []any{&counts.Size, &counts.Unpublished},
		`SELECT COUNT(*), COALESCE(SUM(1 - published), 0) FROM projects WHERE workspace_id = $1 AND user_id = $2`,
		workspaceID, userID)
	return counts, err
}

func (s *Store) Projects(
	ctx context.Context, workspaceID string, after studio.Project, limit int,
) ([]studio.Project, error) {
	args, older := []any{workspaceID, limit}, ""
	if after.ID != "" {
		args, older = append(args, after.CreatedAt.UnixMicro(), after.ID), ` AND (created_at, id) < ($3, $4)`
	}
	var projects []studio.Project
	err := s.engine.query(ctx, func(scan func(...any) error) error {
		var p studio.Project
		var published int
		var document string
		err := scan(&p.ID, &p.WorkspaceID, &p.UserID, instant{&p.CreatedAt}, &published, &document)
		p.Published, p.Document = published != 0, []byte(document)
		projects = append(projects, p)
		return err
	}, `SELECT id, workspace_id, user_id, created_at, published, document FROM projects
		WHERE workspace_id = $1`+older+` ORDER BY created_at DESC, id DESC LIMIT $2 + 0`, args...)
	return projects, err
}
