package store

import (
	"context"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (s *Store) CreateWorkspace(ctx context.Context, workspace studio.Workspace) error {
	return s.write(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, `INSERT INTO workspaces (id, name, created_at) VALUES ($1, $2, $3)`,
			workspace.ID, workspace.Name, micros(workspace.CreatedAt))
		return err
	})
}

func (s *Store) AddMember(ctx context.Context, workspaceID, userID string) error {
	return s.write(ctx, func(tx transaction) error {
		if err := lockUser(ctx, tx, `id = $1`, userID); err != nil {
			return err
		}
		_, err := tx.exec(ctx, `INSERT INTO members (workspace_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
			workspaceID, userID)
		return err
	})
}

func (s *Store) Workspaces(ctx context.Context, userID, after string, limit int) ([]studio.Workspace, error) {
	var all []studio.Workspace
	err := s.engine.query(ctx, func(scan func(...any) error) error {
		var w studio.Workspace
		err := scan(&w.ID, &w.Name, instant{&w.CreatedAt})
		all = append(all, w)
		return err
	}, `SELECT w.id, w.name, w.created_at FROM members m JOIN workspaces w ON w.id = m.workspace_id
		WHERE m.user_id = $1 AND m.workspace_id > $2 ORDER BY m.workspace_id LIMIT $3 + 0`, userID, after, limit)
	return all, err
}
