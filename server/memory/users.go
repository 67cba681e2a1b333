package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// AddUser adds a user and returns the ID. The error is that the email is taken, or is none.
func (s *Service) AddUser(ctx context.Context, email, password string) (id string, err error) {
	user, err := s.studio.AddUser(ctx, "", email, password)
	return user.ID, err
}

// AddWorkspace adds a workspace with one member, whose email is given, and returns its ID.
func (s *Service) AddWorkspace(ctx context.Context, email string) (id string, err error) {
	workspace, err := s.studio.AddWorkspace(ctx, "", "Team")
	if err != nil {
		return "", err
	}
	return workspace.ID, s.studio.AddMember(ctx, workspace.ID, email)
}

// AddProject adds a project to a workspace. By default it is new and belongs to the owner.
func (s *Service) AddProject(ctx context.Context, workspaceID, ownerID string, project gen.Project) error {
	project.ProjectID = cmp.Or(project.ProjectID, new(studio.NewID()))
	project.UserID = cmp.Or(project.UserID, &ownerID)
	project.CreatedAt = cmp.Or(project.CreatedAt, new(time.Now().UTC().Truncate(time.Microsecond)))
	project.UpdatedAt = cmp.Or(project.UpdatedAt, project.CreatedAt)
	document, err := json.Marshal(project)
	if err != nil {
		return err
	}
	_, err = s.studio.ImportProjects(ctx, []studio.Project{{
		ID: *project.ProjectID, WorkspaceID: workspaceID, UserID: *project.UserID, CreatedAt: *project.CreatedAt,
		Published: studio.IsPublished(*cmp.Or(project.Status, new(""))), Document: string(document),
	}})
	return err
}
