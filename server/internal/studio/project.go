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
// page by page. It is not safe for concurrent use.
type ProjectList struct {
	All iter.Seq2[Project, error]

	counts *ProjectCounts
}

// Counts returns the counts of the projects over which the last iteration has passed.
func (l ProjectList) Counts() ProjectCounts { return *l.counts }

// ListProjects returns the projects of a workspace to a member (interface, 4.1). The error is [ErrForbidden]
// if the user is not a member or the workspace does not exist.
func (s *Service) ListProjects(ctx context.Context, userID, workspaceID string) (ProjectList, error) {
	read := func(after Project) ([]Project, error) {
		return s.Store.Projects(ctx, workspaceID, userID, after, projectPage)
	}
	first, err := read(Project{})
	if err != nil {
		return ProjectList{}, err
	}
	list := ProjectList{counts: new(ProjectCounts)}
	list.All = func(yield func(Project, error) bool) {
		*list.counts = ProjectCounts{}
		for page, err := first, error(nil); ; page, err = read(page[len(page)-1]) {
			if err != nil {
				yield(Project{}, err)
				return
			}
			for _, project := range page {
				list.counts.add(project, userID)
				if !yield(project, nil) {
					return
				}
			}
			if len(page) < projectPage {
				return
			}
		}
	}
	return list, nil
}

// add counts a project if it belongs to the user.
func (c *ProjectCounts) add(project Project, userID string) {
	if project.UserID != userID {
		return
	}
	c.Size++
	if !project.Published {
		c.Unpublished++
	}
}

// ProjectPage is a page of a list of projects.
type ProjectPage struct {
	Projects []Project
	Next     string // cursor of the next page; "" on the last page
}

// ProjectPage returns up to limit projects of a workspace to a member, with a cursor as in [Service.List].
// The error is [ErrForbidden] if the user is not a member.
func (s *Service) ProjectPage(ctx context.Context, userID, workspaceID, cursor string, limit int) (ProjectPage, error) {
	list := strings.Join([]string{"", "projects", userID, workspaceID}, "\x00")
	var after Project
	if cursor != "" {
		position, ok := s.parseCursor(list, cursor)
		if !ok {
			return ProjectPage{}, ErrCursor
		}
		after = Project{ID: position.ID, CreatedAt: position.CreatedAt}
	}
	projects, err := s.Store.Projects(ctx, workspaceID, userID, after, limit+1)
	if err != nil || len(projects) <= limit {
		return ProjectPage{Projects: projects}, err
	}
	last := projects[limit-1]
	return ProjectPage{Projects: projects[:limit], Next: s.cursor(list, Position{last.CreatedAt, last.ID})}, nil
}

// ImportProjects adds all projects or none. If the error is [ErrExists], index is the project that exists.
func (s *Service) ImportProjects(ctx context.Context, projects []Project) (index int, err error) {
	return s.Store.ImportProjects(ctx, projects)
}
