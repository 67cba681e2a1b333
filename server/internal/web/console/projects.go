package console

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/gen"
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
	filters := filtersOf(query, "workspace", "status", "tag", "title")
	if v.Filter.WorkspaceID != "" {
		filters.Set("workspace", v.Filter.WorkspaceID)
		page, err := c.cfg.Studio.ProjectPage(r.Context(), s.ID, v.Filter, query.Get("cursor"), pageSize)
		if err != nil {
			return err
		}
		for _, project := range page.Projects {
			v.Projects = append(v.Projects, newProjectCard(project, s.ID))
		}
		v.pager = newPager(projectsPath, filters, query.Get("cursor"), page.Next)
	}
	return c.render(w, r, http.StatusOK, "projects", view{Title: "Projects", Section: projectsPath, Data: v})
}

// pager is the links of a page of a list.
type pager struct {
	path    string
	filters url.Values

	Older  string // the path of the next page; "" on the last one
	Newest string // the path of the first page; "" on the first one
}

// filtersOf returns the filters in a query that are not "".
func filtersOf(query url.Values, names ...string) url.Values {
	filters := make(url.Values)
	for _, name := range names {
		if text := query.Get(name); text != "" {
			filters.Set(name, text)
		}
	}
	return filters
}

// With returns the path of the first page with another value of a filter, or for "" with all values.
func (p pager) With(filter, value string) string {
	query := maps.Clone(p.filters)
	if query.Set(filter, value); value == "" {
		query.Del(filter)
	}
	if len(query) == 0 {
		return p.path
	}
	return p.path + "?" + query.Encode()
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
	return page, newPager(path, url.Values{}, cursor, next), err
}

// newPager returns the links of the page at cursor.
func newPager(path string, filters url.Values, cursor, next string) pager {
	p := pager{path: path, filters: filters}
	if next != "" {
		p.Older = p.With("cursor", next)
	}
	if cursor != "" {
		p.Newest = p.With("cursor", "")
	}
	return p
}

// tagColors are the colors of new tags.
//
//nolint:gochecknoglobals // a table
var tagColors = []string{"#2D7FF9", "#20C933", "#F82B60", "#FCB400", "#8B46FF", "#18BFFF"}

// TagNames returns the tags as the form shows them.
func (v subjectView) TagNames() string { return tagNames(v.Subject) }

func tagNames(subject studio.Subject) string { return strings.Join(subject.Project.Tags.Names, ", ") }

// parseTags returns the tags in a form. Those that there were keep their colors.
func parseTags(text string, before studio.Tags) *gen.ProjectTags {
	names, colors := []string{}, []string{}
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if name == "" || slices.Contains(names, name) {
			continue
		}
		color := tagColors[len(names)%len(tagColors)]
		if i := slices.Index(before.Names, name); i >= 0 && i < len(before.Colors) {
			color = before.Colors[i]
		}
		names, colors = append(names, name), append(colors, color)
	}
	return &gen.ProjectTags{Names: &names, Colors: &colors}
}

// updateProject sends what the form changes of a project to the API.
func (c *Console) updateProject(api http.Handler) page {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		subject, err := c.cfg.Studio.FindProject(r.Context(), s.ID, r.PathValue("id"))
		if err != nil {
			return err
		}
		request, err := c.apiRequest(r, s, "/v1/projects/update")
		if err != nil {
			return err
		}
		change, done := projectChange(r.PostForm, subject)
		if _, err := sendJSON(api, request, change); err != nil {
			return err
		}
		return redirect(w, r, kindOf(subject.Kind).pathOf(subject.ID)+"?done="+done, nil)
	}
}

// projectChange returns what a form changes of a project, and which notice tells about it.
func projectChange(form url.Values, subject studio.Subject) (change gen.UpdateProjectRequest, done string) {
	change, done = gen.UpdateProjectRequest{ProjectID: subject.ID}, "saved"
	if title := form.Get("title"); form.Has("title") && (title != "" || subject.Title != nil) {
		change.Title = &title
	}
	if text := form.Get("tags"); form.Has("tags") && text != tagNames(subject) {
		change.Tags = parseTags(text, subject.Project.Tags)
	}
	switch uploads := studio.UploadIDs([]byte(form.Get("thumbnail"))); {
	case len(uploads) > 0:
		change.CustomThumbnail = &uploads[0]
	case form.Has("remove_thumbnail"):
		change.CustomThumbnail = new("")
	}
	switch form.Get("shared") {
	case "true":
		change.Shared, done = new(true), "shared"
	case "false":
		change.Shared, done = new(false), "unshared"
	}
	return change, done
}
