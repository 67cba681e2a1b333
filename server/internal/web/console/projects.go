package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	projectsPath = Path + "/projects"
	pageSize     = 24
)

// projectsView is the page that lists projects.
type projectsView struct {
	pager

	Workspaces []studio.Workspace
	Filter     studio.ProjectFilter
	Projects   []projectCard
}

// Statuses returns the statuses to choose from. Imported projects may have others.
func (v projectsView) Statuses() []string {
	statuses := []string{"published", "processing", "draft", "failed", "consent_pending", "consent_failed"}
	if v.Filter.Status != "" && !slices.Contains(statuses, v.Filter.Status) {
		statuses = append(statuses, v.Filter.Status)
	}
	return statuses
}

// Tags returns the tags of the projects on the page.
func (v projectsView) Tags() []string {
	var names []string
	for _, project := range v.Projects {
		for _, tag := range project.Tags {
			names = append(names, tag.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// WithStatus returns the path of the first page with another status, or with all.
func (v projectsView) WithStatus(status string) string {
	v.Filter.Status = status
	return withQuery(projectsPath, projectQuery(v.Filter))
}

// WithTag returns the path of the first page with another tag, or with all.
func (v projectsView) WithTag(tag string) string {
	v.Filter.Tag = tag
	return withQuery(projectsPath, projectQuery(v.Filter))
}

func projectQuery(filter studio.ProjectFilter) url.Values {
	return filterQuery(map[string]string{"workspace": filter.WorkspaceID, "status": filter.Status, "tag": filter.Tag, "title": filter.Title})
}

// filterQuery returns the query of the filters that are not "".
func filterQuery(filters map[string]string) url.Values {
	query := make(url.Values)
	for name, value := range filters {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// withQuery returns a path with a query, if it has one.
func withQuery(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

func (c *Console) projects(w http.ResponseWriter, r *http.Request, s session) error {
	workspaces, err := c.cfg.Studio.Workspaces(r.Context(), s.ID)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	v := projectsView{Workspaces: workspaces}
	v.Filter = studio.ProjectFilter{
		WorkspaceID: query.Get("workspace"), Status: query.Get("status"), Tag: strings.TrimSpace(query.Get("tag")), Title: query.Get("title"),
	}
	if v.Filter.WorkspaceID == "" && len(workspaces) > 0 {
		v.Filter.WorkspaceID = workspaces[0].ID
	}
	if v.Filter.WorkspaceID != "" {
		page, err := c.cfg.Studio.ProjectPage(r.Context(), s.ID, v.Filter, query.Get("cursor"), pageSize)
		if err != nil {
			return err
		}
		for _, project := range page.Projects {
			v.Projects = append(v.Projects, newProjectCard(project, s.ID))
		}
		v.pager = newPager(projectsPath, projectQuery(v.Filter), query.Get("cursor"), page.Next)
	}
	c.render(w, r, http.StatusOK, "projects", view{Title: "Projects", Section: projectsPath, Data: v})
	return nil
}

// pager is the links of a page of a list.
type pager struct {
	Older  string // the path of the next page; "" on the last one
	Newest string // the path of the first page; "" on the first one
}

// readPage reads the page of a list at the cursor of a request. read returns up to limit items after a cursor, and
// cursorOf the cursor of an item.
func readPage[T any](
	r *http.Request, path string, read func(ctx context.Context, cursor string, limit int) ([]T, error), cursorOf func(T) string,
) (page []T, links pager, err error) {
	cursor, next := r.URL.Query().Get("cursor"), ""
	page, err = read(r.Context(), cursor, pageSize+1)
	if len(page) > pageSize {
		page, next = page[:pageSize], cursorOf(page[pageSize-1])
	}
	return page, newPager(path, make(url.Values), cursor, next), err
}

// newPager returns the links of the page at cursor. It changes query.
func newPager(path string, query url.Values, cursor, next string) (p pager) {
	link := func(cursor string) string {
		query.Set("cursor", cursor)
		if cursor == "" {
			query.Del("cursor")
		}
		return withQuery(path, query)
	}
	if next != "" {
		p.Older = link(next)
	}
	if cursor != "" {
		p.Newest = link("")
	}
	return p
}
