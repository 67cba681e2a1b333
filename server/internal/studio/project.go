package studio

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"
)

// A list reads its first projects with one query, which are all for most lists, and twice as many with each further one,
// up to a limit: a caller that does not read the response occupies little memory. No transaction is open between pages, so
// a caller that reads slowly blocks nothing.
const (
	firstProjectPage = 32
	maxProjectPage   = 320
)

// ProjectStore stores projects; see [Store].
type ProjectStore interface {
	// ImportProjects adds all projects or none. If the error is [ErrExists], index is the project that
	// exists.
	ImportProjects(ctx context.Context, projects []Project) (index int, err error)
	// Projects returns up to limit projects of a workspace, newest first, that follow a position. The zero Position
	// is before the newest. more reports whether others follow. If projects are large, a page has fewer than
	// limit, but at least one. The error is [ErrForbidden] if the user is not a member of the workspace.
	Projects(ctx context.Context, workspaceID, userID string, after Position, limit int) (page []Project, more bool, err error)
}

// Project is a project in the project list (section 2.1 of the interface). Most of its fields have no meaning in the domain
// and are only in Document. The other fields are keys, order and counts.
type Project struct {
	ID          string
	WorkspaceID string
	UserID      string
	CreatedAt   time.Time
	Published   bool
	Document    json.RawMessage
}

func (p Project) position() Position { return Position{p.CreatedAt, p.ID} }

// IsPublished reports whether a project status means published, in any case.
func IsPublished(status string) bool { return strings.EqualFold(status, "published") }

// ProjectCounts are the counts for a user in a workspace (section 2.2 of the interface).
type ProjectCounts struct {
	Size        int
	Unpublished int
}

// ProjectList is the project list of a workspace. Pages iterates once over all projects, newest first. It reads them
// page by page and keeps no reference to a page. It is not safe for concurrent use.
type ProjectList struct {
	Pages iter.Seq2[[]Project, error]

	counts *ProjectCounts
	more   *bool
}

// More reports whether the page over which the iteration passes is followed by another one, which is not read yet.
func (l ProjectList) More() bool { return *l.more }

// Counts returns the counts of the projects over which the iteration has passed.
func (l ProjectList) Counts() ProjectCounts { return *l.counts }

// ListProjects returns the projects of a workspace to a member (section 4.1 of the interface). The error is [ErrForbidden]
// if the user is not a member or the workspace does not exist.
func (s *Service) ListProjects(ctx context.Context, userID, workspaceID string) (ProjectList, error) {
	size := firstProjectPage
	next, more, err := s.Store.Projects(ctx, workspaceID, userID, Position{}, size)
	if err != nil {
		return ProjectList{}, err
	}
	list := ProjectList{counts: new(ProjectCounts), more: &more}
	list.Pages = func(yield func([]Project, error) bool) {
		for len(next) > 0 {
			page, last := next, next[len(next)-1].position()
			next = nil
			for _, project := range page {
				list.counts.add(project, userID)
			}
			if !yield(page, nil) || !more {
				return
			}
			size = min(2*size, maxProjectPage)
			var err error
			if next, more, err = s.Store.Projects(ctx, workspaceID, userID, last, size); err != nil {
				yield(nil, err)
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
	projects, next, err := readPage(s, list, cursor, func(after Position) ([]Project, bool, error) {
		return s.Store.Projects(ctx, workspaceID, userID, after, limit)
	}, Project.position)
	return ProjectPage{projects, next}, err
}

// ImportProjects adds all projects or none. If the error is [ErrExists], index is the project that exists.
func (s *Service) ImportProjects(ctx context.Context, projects []Project) (index int, err error) {
	return s.Store.ImportProjects(ctx, projects)
}
