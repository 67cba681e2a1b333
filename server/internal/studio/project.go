package studio

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"
)

// A list reads its first projects with one query, which are all for most lists, and twice as many with each further
// one, up to a limit: a caller that does not read the response occupies little memory. No transaction is open between
// pages, so a caller that reads slowly blocks nothing.
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
	// IsImported reports whether a project is an imported one in a workspace of the user: in the one with the ID, or in
	// any if it is "".
	IsImported(ctx context.Context, userID, workspaceID, id string) (bool, error)
	// VideoSeconds returns the sum of [Subject.VideoSeconds] of all subjects of a user, including deleted ones.
	VideoSeconds(ctx context.Context, userID string) (int64, error)
}

// Project is a project in the project list (section 2.1 of the interface): an imported one, or a subject. Most fields
// of an imported project have no meaning in the domain and are only in Document. The other fields are keys, order and
// counts.
type Project struct {
	ID           string
	WorkspaceID  string
	UserID       string
	CreatedAt    time.Time
	Published    bool
	Document     string   // JSON; "" unless the project is imported
	Subject      *Subject // nil if it is imported
	VideoSeconds int64    // the credits that the owner of the subject has used
}

// NewProject returns the project that a subject is. used is the credits that its owner has used.
func NewProject(subject *Subject, used int64) Project {
	return Project{
		ID: subject.ID, WorkspaceID: subject.WorkspaceID, UserID: subject.UserID, CreatedAt: subject.CreatedAt,
		Published: IsPublished(subject.projectStatus()), Subject: subject, VideoSeconds: used,
	}
}

// projectStatus returns the status of the project that a subject is. A video or lip-sync that succeeded is published.
func (s *Subject) projectStatus() string {
	if s.Status == Succeeded {
		return string(Published)
	}
	return string(s.Status)
}

// Status returns the status of a project. That of an imported one is any text.
func (p Project) Status() string { return p.labels().Status }

// projectLabels is what the domain reads of the document of an imported project, and has of the others, too.
type projectLabels struct {
	Title  *string `json:"title"`
	Status string  `json:"status"`
	Tags   Tags    `json:"tags"`
}

func (p Project) labels() (labels projectLabels) {
	if p.Subject != nil {
		return projectLabels{p.Subject.Title, p.Subject.projectStatus(), p.Subject.Project.Tags}
	}
	_ = json.Unmarshal([]byte(p.Document), &labels) // the import has checked it
	return labels
}

func (p Project) position() Position { return Position{p.CreatedAt, p.ID} }

// IsPublished reports whether a project status means published, in any case.
func IsPublished(status string) bool { return strings.EqualFold(status, "published") }

// ProjectCounts are the counts for a user in a workspace (section 2.2 of the interface).
type ProjectCounts struct {
	Size        int
	Unpublished int
}

// ProjectList is the project list of a workspace. Pages iterates once over the projects that its filter selects, newest
// first. It reads them page by page and keeps no reference to a page. It is not safe for concurrent use.
type ProjectList struct {
	Pages  iter.Seq2[[]Project, error]
	Counts ProjectCounts // of the projects over which the iteration has passed, selected or not
	More   bool          // whether the page over which it passes is followed by projects that are not read yet
}

// ListProjects returns the projects of a workspace to a member (section 4.1 of the interface). The error is
// [ErrForbidden] if the user is not a member or the workspace does not exist.
func (s *Service) ListProjects(ctx context.Context, userID string, filter ProjectFilter) (*ProjectList, error) {
	filter.Title = searchable(filter.Title)
	size := firstProjectPage
	next, more, err := s.Store.Projects(ctx, filter.WorkspaceID, userID, Position{}, size)
	if err != nil {
		return nil, err
	}
	list := &ProjectList{More: more}
	list.Pages = func(yield func([]Project, error) bool) {
		for len(next) > 0 {
			page, last := next, next[len(next)-1].position()
			next = nil
			for _, project := range page {
				list.Counts.add(project, userID)
			}
			page = slices.DeleteFunc(page, func(p Project) bool { return !filter.selects(p) })
			if len(page) > 0 && !yield(page, nil) || !list.More {
				return
			}
			size = min(2*size, maxProjectPage)
			var err error
			if next, list.More, err = s.Store.Projects(ctx, filter.WorkspaceID, userID, last, size); err != nil {
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

// ProjectFilter selects projects of a workspace. An empty Status, Tag or Title selects all.
type ProjectFilter struct {
	WorkspaceID string
	Status      string // in any case
	Tag         string // the name of a tag
	Title       string // a part of it, as in [SubjectFilter]
}

// all reports whether f selects all projects of its workspace.
func (f ProjectFilter) all() bool { return f == ProjectFilter{WorkspaceID: f.WorkspaceID} }

func (f ProjectFilter) selects(p Project) bool {
	if f.all() {
		return true
	}
	labels := p.labels()
	return (f.Status == "" || strings.EqualFold(f.Status, labels.Status)) && (f.Tag == "" || slices.Contains(labels.Tags.Names, f.Tag)) &&
		(f.Title == "" || hasTitle(labels.Title, f.Title))
}

// list identifies the list of a filter in its cursors.
func (f ProjectFilter) list(userID string) string {
	return string(frame("projects", userID, f.WorkspaceID, f.Status, f.Tag, f.Title))
}

// ProjectPage is a page of a list of projects.
type ProjectPage struct {
	Projects []Project
	Next     string // cursor of the next page; "" on the last page
}

// ProjectPage returns up to limit projects to a member of their workspace, newest first, with a cursor as in
// [Service.List]. A page has fewer, or none, before the last page if few of the next 3200 projects match the filter.
// The error is [ErrForbidden] if the user is not a member.
func (s *Service) ProjectPage(ctx context.Context, userID string, filter ProjectFilter, cursor string, limit int) (ProjectPage, error) {
	filter.Title = searchable(filter.Title)
	selects := filter.selects
	if filter.all() {
		selects = nil
	}
	projects, next, err := searchPages(s, filter.list(userID), cursor, limit, selects, func(after Position, limit int) ([]Project, bool, error) {
		return s.Store.Projects(ctx, filter.WorkspaceID, userID, after, limit)
	}, Project.position)
	return ProjectPage{projects, next}, err
}

// FindProject returns the subject that is a project to a member of its workspace. The error is [ErrNotFound] if there
// is none or the user is no member.
func (s *Service) FindProject(ctx context.Context, userID, projectID string) (Subject, error) {
	subject, err := s.Store.Subject(ctx, projectID)
	if err == nil {
		_, _, err = s.Store.Projects(ctx, subject.WorkspaceID, userID, Position{}, 1) // checks the membership
	}
	if errors.Is(err, ErrForbidden) {
		err = ErrNotFound
	}
	if err != nil {
		return Subject{}, err
	}
	return subject, nil
}

// ImportProjects adds all projects or none. If the error is [ErrExists], index is the project that exists.
func (s *Service) ImportProjects(ctx context.Context, projects []Project) (index int, err error) {
	return s.Store.ImportProjects(ctx, projects)
}
