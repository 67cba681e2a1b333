package memstore

import (
	"context"
	"maps"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (s *Store) CreateWorkspace(_ context.Context, workspace studio.Workspace) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return insert(s.workspaces, workspace.ID, workspace)
}

// workspacesOf returns the workspaces of a user. s.mu must be held.
func (s *Store) workspacesOf(userID string) (all []studio.Workspace) {
	for member := range s.members {
		if member.b == userID {
			all = append(all, s.workspaces[member.a])
		}
	}
	return all
}

// AddMember adds a member. It does not look for the workspace, which nothing removes.
func (s *Store) AddMember(_ context.Context, workspaceID, userID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members[pair{workspaceID, userID}] = true
	return nil
}

func (s *Store) ImportProjects(_ context.Context, projects []studio.Project) (index int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := maps.Clone(s.projects)
	for index, project := range projects {
		_, err := find(s.workspaces, project.WorkspaceID)
		if err == nil {
			err = insert(all, project.ID, project)
		}
		if err != nil {
			return index, err
		}
	}
	s.projects = all
	return 0, nil
}

func (s *Store) Projects(
	_ context.Context, workspaceID, userID string, after studio.Position, limit int,
) (projects []studio.Project, more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.members[pair{workspaceID, userID}] {
		return nil, false, studio.ErrForbidden
	}
	for _, project := range s.projects {
		if project.WorkspaceID == workspaceID {
			projects = append(projects, project)
		}
	}
	for _, row := range s.subjects {
		if row.WorkspaceID == workspaceID && row.deletedAt.IsZero() {
			projects = append(projects, studio.NewProject(&row.Subject, s.seconds[row.UserID]))
		}
	}
	position := func(p studio.Project) studio.Position { return studio.Position{CreatedAt: p.CreatedAt, ID: p.ID} }
	projects, more = page(projects, position, newest, after, limit)
	return projects, more, nil
}

func (s *Store) IsImported(_ context.Context, userID, workspaceID, id string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.projects[id].WorkspaceID
	return s.members[pair{found, userID}] && (workspaceID == "" || workspaceID == found), nil
}

func (s *Store) VideoSeconds(_ context.Context, userID string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seconds[userID], nil
}
