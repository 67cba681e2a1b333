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
		_, err := tx.exec(ctx, `INSERT INTO members (workspace_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
			workspaceID, userID)
		return err
	})
}

func (s *Store) IsMember(ctx context.Context, workspaceID, userID string) (bool, error) {
	var count int
	err := one(ctx, s.engine, []any{&count},
		`SELECT COUNT(*) FROM members WHERE workspace_id = $1 AND user_id = $2`, workspaceID, userID)
	return count > 0, err
}
