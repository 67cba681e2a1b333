package studio

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"
)

// projectPage is how many projects are read with one query. No transaction is open between pages, so a caller
// that reads slowly blocks nothing.
const projectPage = 500

// Project is a project in the project list (interface, 2.1). Most of its fields have no meaning in the domain
// and are only in Document. The other fields are keys, order and counts.
type Project struct {
	ID          string
	WorkspaceID string
	UserID      string
	CreatedAt   time.Time
	Published   bool
	Document    json.RawMessage
}

// IsPublished reports whether a project status means published, in any case.
func IsPublished(status string) bool { return strings.EqualFold(status, "published") }

// ProjectCounts are the counts for a user in a workspace (interface, 2.2).
type ProjectCounts struct {
	Size        int
	Unpublished int
}

// ProjectList is the project list of a workspace. All iterates over all projects, newest first, reading them
// page by page. Counts queries the counts for the user.
type ProjectList struct {
	All    iter.Seq2[Project, error]
	Counts func() (ProjectCounts, error)
}

// ListProjects returns the projects of a workspace to a member (interface, 4.1). The error is [ErrForbidden]
// if the user is not a member or the workspace does not exist.
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

// ProjectPage is a page of a list of projects.
type ProjectPage struct {
	Projects []Project
	Next     string // cursor of the next page; "" on the last page
}

// ProjectPage returns up to limit projects of a workspace to a member, with a cursor as in [Service.List].
// The error is [ErrForbidden] if the user is not a member.
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

// ImportProjects adds all projects or none. If the error is [ErrExists], index is the project that exists.
func (s *Service) ImportProjects(ctx context.Context, projects []Project) (index int, err error) {
	return s.Store.ImportProjects(ctx, projects)
}
