package studio

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"
)

// projectPage is how many projects are read at once. The database is free between pages, so
// a caller that reads slowly holds nothing up.
const projectPage = 500

// Project is a project as the project list shows it (interface, 2.1). No rule depends on most
// of its fields, so they stay one document; the others are here for keys, order and counts.
type Project struct {
	ID          string
	WorkspaceID string
	UserID      string
	CreatedAt   time.Time
	Published   bool
	Document    json.RawMessage
}

// IsPublished reports whether a project status counts as published.
func IsPublished(status string) bool { return strings.EqualFold(status, "published") }

// ProjectCounts are the counts of one user in one workspace (interface, 2.2).
type ProjectCounts struct {
	Size        int
	Unpublished int
}

// ProjectList is the answer to listing: all projects of the workspace, newest first, read as they
// are ranged over, and the counts of the caller, counted when they are asked for.
type ProjectList struct {
	All    iter.Seq2[Project, error]
	Counts func() (ProjectCounts, error)
}

// ListProjects lists a workspace for one of its members (interface, 4.1). [ErrForbidden]
// when the caller is no member or there is no such workspace.
func (s *Service) ListProjects(ctx context.Context, userID, workspaceID string) (ProjectList, error) {
	member, err := s.Store.IsMember(ctx, workspaceID, userID)
	if err != nil {
		return ProjectList{}, err
	}
	if !member {
		return ProjectList{}, ErrForbidden
	}
	return ProjectList{
		All:    s.projects(ctx, workspaceID),
		Counts: func() (ProjectCounts, error) { return s.Store.CountProjects(ctx, workspaceID, userID) },
	}, nil
}

// ProjectPage is a part of the list of projects.
type ProjectPage struct {
	Projects []Project
	Next     string // the cursor of the next page; "" on the last one
}

// ProjectPage lists up to limit projects of a workspace for one of its members, as [Service.List] lists
// subjects. [ErrForbidden] when the caller is no member.
func (s *Service) ProjectPage(ctx context.Context, userID, workspaceID, cursor string, limit int) (ProjectPage, error) {
	member, err := s.Store.IsMember(ctx, workspaceID, userID)
	if err != nil {
		return ProjectPage{}, err
	}
	if !member {
		return ProjectPage{}, ErrForbidden
	}
	list := strings.Join([]string{"", "projects", userID, workspaceID}, "\x00")
	var after Project
	if cursor != "" {
		position, ok := s.parseCursor(list, cursor)
		if !ok {
			return ProjectPage{}, ErrCursor
		}
		after = Project{ID: position.ID, CreatedAt: position.CreatedAt}
	}
	projects, err := s.Store.Projects(ctx, workspaceID, after, limit+1)
	if err != nil || len(projects) <= limit {
		return ProjectPage{Projects: projects}, err
	}
	last := projects[limit-1]
	return ProjectPage{Projects: projects[:limit], Next: s.cursor(list, Position{last.CreatedAt, last.ID})}, nil
}

func (s *Service) projects(ctx context.Context, workspaceID string) iter.Seq2[Project, error] {
	return func(yield func(Project, error) bool) {
		var last Project
		for {
			page, err := s.Store.Projects(ctx, workspaceID, last, projectPage)
			if err != nil {
				yield(Project{}, err)
				return
			}
			for _, project := range page {
				if !yield(project, nil) {
					return
				}
			}
			if len(page) < projectPage {
				return
			}
			last = page[len(page)-1]
		}
	}
}

// ImportProjects adds all projects or none. With [ErrExists], index tells which one exists.
func (s *Service) ImportProjects(ctx context.Context, projects []Project) (index int, err error) {
	return s.Store.ImportProjects(ctx, projects)
}
