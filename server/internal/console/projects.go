package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	projectsPath = Path + "/projects"
	pageSize     = 24
	// maxScriptBytes bounds a script in a link.
	maxScriptBytes = 5000
)

// projectsView is the page that lists projects.
type projectsView struct {
	pager

	Workspaces []studio.Workspace
	Workspace  string // the id of the selected workspace
	Projects   []projectCard
}

// projectCard is a project in the list. Imported projects are not validated, so any member may be missing or
// hostile.
type projectCard struct {
	gen.Project

	ID        string
	Published bool
	Picture   string // the thumbnail, if it is on this origin
	External  link   // the thumbnail, if it is on another origin
	Watch     link   // the video
	Script    string // the path of the form for a video of the script; "" without a script
	Tags      []tag
}

// link is a link to another origin. Pages load nothing from other origins, so that their servers do not learn who
// views a project, when and from which address.
type link struct{ URL, Host string }

type tag struct{ Name, Color string }

func (c *Console) projects(w http.ResponseWriter, r *http.Request, s session) error {
	workspaces, err := c.cfg.Studio.Workspaces(r.Context(), s.ID)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	v := projectsView{Workspaces: workspaces, Workspace: query.Get("workspace")}
	if v.Workspace == "" && len(workspaces) > 0 {
		v.Workspace = workspaces[0].ID
	}
	if v.Workspace != "" {
		page, err := c.cfg.Studio.ProjectPage(r.Context(), s.ID, studio.ProjectFilter{WorkspaceID: v.Workspace}, query.Get("cursor"), pageSize)
		if err != nil {
			return err
		}
		for _, project := range page.Projects {
			v.Projects = append(v.Projects, newProjectCard(project))
		}
		v.pager = newPager(projectsPath, url.Values{"workspace": {v.Workspace}}, query.Get("cursor"), page.Next)
	}
	c.render(w, r, http.StatusOK, "projects", view{Title: "Projects", Section: projectsPath, Data: v})
	return nil
}

// pager is the links of a page of a list.
type pager struct {
	Older  string // the path of the next page; "" on the last one
	Newest string // the path of the first page; "" on the first one
}

// firstPage returns the items of a page. items has one more if there is another page, whose cursor is next.
func firstPage[T any](items []T, cursor func(T) string) (page []T, next string) {
	if len(items) <= pageSize {
		return items, ""
	}
	return items[:pageSize], cursor(items[pageSize-1])
}

// newPager returns the links of the page at cursor. It changes query.
func newPager(path string, query url.Values, cursor, next string) (p pager) {
	link := func(cursor string) string {
		query.Set("cursor", cursor)
		if cursor == "" {
			query.Del("cursor")
		}
		if len(query) == 0 {
			return path
		}
		return path + "?" + query.Encode()
	}
	if next != "" {
		p.Older = link(next)
	}
	if cursor != "" {
		p.Newest = link("")
	}
	return p
}

var color = regexp.MustCompile(`^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$`)

func newProjectCard(p studio.Project) projectCard {
	v := projectCard{ID: p.ID, Published: p.Published}
	_ = json.Unmarshal(p.Document, &v.Project) // members that cannot be decoded are not shown
	if v.Thumbnail != nil {
		v.Picture, v.External = localPicture(*v.Thumbnail), externalLink(*v.Thumbnail)
	}
	if v.Video != nil {
		v.Watch = externalLink(*v.Video)
	}
	if v.RecordingScript != nil && *v.RecordingScript != "" && len(*v.RecordingScript) <= maxScriptBytes {
		script := url.Values{"text": {*v.RecordingScript}}
		if v.Title != nil {
			script.Set("title", *v.Title)
		}
		v.Script = Path + "/videos/new?" + script.Encode()
	}
	if v.Project.Tags != nil && v.Project.Tags.Names != nil {
		for i, name := range *v.Project.Tags.Names {
			t := tag{Name: name}
			if colors := v.Project.Tags.Colors; colors != nil && i < len(*colors) && color.MatchString((*colors)[i]) {
				t.Color = (*colors)[i]
			}
			v.Tags = append(v.Tags, t)
		}
	}
	return v
}

// localPicture returns address if it is a path on this origin, or "". Browsers take several slashes at the beginning for
// the begin of a host.
func localPicture(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || strings.Contains(address, `\`) ||
		!strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") {
		return ""
	}
	return u.String()
}

// externalLink returns a link to address if it is an http or https URL without userinfo, or the zero link.
func externalLink(address string) link {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return link{}
	}
	return link{u.String(), u.Host}
}
