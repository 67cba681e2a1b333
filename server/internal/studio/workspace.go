package studio

import (
	"context"
	"time"
)

// Workspace holds projects for its members.
type Workspace struct {
	ID        string
	Name      string
	CreatedAt time.Time
}

// AddWorkspace makes a workspace; an empty id gets a new one.
func (s *Service) AddWorkspace(ctx context.Context, id, name string) (Workspace, error) {
	if id == "" {
		id = s.NewID()
	}
	workspace := Workspace{ID: id, Name: name, CreatedAt: s.now()}
	return workspace, s.Store.CreateWorkspace(ctx, workspace)
}

// AddMember lets a user see a workspace. Repeating it changes nothing.
func (s *Service) AddMember(ctx context.Context, workspaceID, email string) error {
	user, err := s.UserByEmail(ctx, email)
	if err != nil {
		return err
	}
	return s.Store.AddMember(ctx, workspaceID, user.ID)
}

// maxWorkspaces is how many workspaces of a user are listed.
const maxWorkspaces = 200

// Workspaces lists the workspaces of a user, oldest first, up to the 200th.
func (s *Service) Workspaces(ctx context.Context, userID string) ([]Workspace, error) {
	return s.Store.Workspaces(ctx, userID, "", maxWorkspaces)
}
