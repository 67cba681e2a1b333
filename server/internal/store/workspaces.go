package store

import (
	"context"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (s *Store) CreateWorkspace(ctx context.Context, workspace studio.Workspace) error {
	return s.execAll(ctx, []statement{insertWorkspace(workspace)})
}

func insertWorkspace(workspace studio.Workspace) statement {
	return statement{
		`INSERT INTO workspaces (id, name, created_at) VALUES ($1, $2, $3)`,
		[]any{workspace.ID, workspace.Name, micros(workspace.CreatedAt)},
	}
}

func (s *Store) AddMember(ctx context.Context, workspaceID, userID string) error {
	return s.writeOf(ctx, userID, func(tx transaction) error { return tx.execAll(ctx, []statement{insertMember(workspaceID, userID)}) })
}

func insertMember(workspaceID, userID string) statement {
	return statement{`INSERT INTO members (workspace_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`, []any{workspaceID, userID}}
}

func (s *Store) RemoveMember(ctx context.Context, workspaceID, userID string) error {
	return s.execFound(ctx, `DELETE FROM members WHERE workspace_id = $1 AND user_id = $2`, workspaceID, userID)
}

// Membership is a workspace and the number of its members.
type Membership struct {
	studio.Workspace
	Members int
}

// AllWorkspaces returns up to limit workspaces of the service in descending order of ID. It starts below the ID below,
// or at the highest if below is "".
func (s *Store) AllWorkspaces(ctx context.Context, below string, limit int) ([]Membership, error) {
	where := conditions{args: []any{limit}}
	where.filter(`w.id < ?`, below)
	return queryRows(ctx, s.engine, func(m *Membership) []any {
		return []any{&m.ID, &m.Name, instant{&m.CreatedAt}, &m.Members}
	}, `SELECT w.id, w.name, w.created_at, (SELECT COUNT(*) FROM members m WHERE m.workspace_id = w.id)
		FROM workspaces w`+where.where()+` ORDER BY w.id DESC `+limitTo("$1"), where.args...)
}

// Workspace returns a workspace of the service by its ID, without the number of its members. The error is
// [studio.ErrNotFound] if there is none.
func (s *Store) Workspace(ctx context.Context, id string) (w studio.Workspace, err error) {
	err = queryRow(ctx, s.engine, []any{&w.ID, &w.Name, instant{&w.CreatedAt}}, "SELECT id, name, created_at FROM workspaces WHERE id = $1", id)
	return w, err
}

func (s *Store) Workspaces(ctx context.Context, userID string, limit int) ([]studio.Workspace, error) {
	return queryRows(ctx, s.engine, func(w *studio.Workspace) []any {
		return []any{&w.ID, &w.Name, instant{&w.CreatedAt}}
	}, `SELECT w.id, w.name, w.created_at FROM members m JOIN workspaces w ON w.id = m.workspace_id
		WHERE m.user_id = $1 ORDER BY m.workspace_id `+limitTo("$2"), userID, limit)
}
