package studio

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// WorkspaceStore stores workspaces and their members; see [Store].
type WorkspaceStore interface {
	CreateWorkspace(ctx context.Context, workspace Workspace) error
	// AddMember is idempotent. The error is [ErrNotFound] if the workspace or the user does not exist.
	AddMember(ctx context.Context, workspaceID, userID string) error
}

// Workspace has projects and members who can list them.
type Workspace struct {
	ID        string
	Name      string
	CreatedAt time.Time
}

type workspaceKey struct{}

// OnlyWorkspace returns a context for a caller with an API key for a workspace. The use cases of subjects and events
// then know those of this workspace only: all others are [ErrNotFound], or missing in lists and streams.
func OnlyWorkspace(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, workspaceKey{}, id)
}

// onlyWorkspace returns the workspace of [OnlyWorkspace], or "" for a caller in all workspaces.
func onlyWorkspace(ctx context.Context) string {
	id, _ := ctx.Value(workspaceKey{}).(string)
	return id
}

// ErrWorkspaceName is returned for the name of a workspace that is empty or too long.
var ErrWorkspaceName = errors.New("studio: the name of a workspace has 1 to 100 characters")

// AddWorkspace creates a workspace. If id is empty, the workspace gets a new id. The name becomes one line. The error
// is [ErrWorkspaceName] if it is empty or longer than 100 characters.
func (s *Service) AddWorkspace(ctx context.Context, id, name string) (Workspace, error) {
	name, ok := s.name(name)
	if !ok {
		return Workspace{}, ErrWorkspaceName
	}
	workspace := s.newWorkspace(id, name)
	return workspace, s.Store.CreateWorkspace(ctx, workspace)
}

func (s *Service) newWorkspace(id, name string) Workspace {
	return Workspace{ID: cmp.Or(id, NewID()), Name: name, CreatedAt: s.now()}
}

// AddMember adds a user to a workspace. It is idempotent.
func (s *Service) AddMember(ctx context.Context, workspaceID, email string) error {
	user, err := s.UserByEmail(ctx, email)
	if err != nil {
		return err
	}
	return s.Store.AddMember(ctx, workspaceID, user.ID)
}

// maxWorkspaces limits the workspaces that are listed.
const maxWorkspaces = 200

// Workspaces returns the workspaces of a user, oldest first, up to 200.
func (s *Service) Workspaces(ctx context.Context, userID string) ([]Workspace, error) {
	return s.database.Workspaces(ctx, userID, maxWorkspaces)
}
