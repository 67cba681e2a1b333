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
)

// projectsView is a page of projects.
type projectsView struct {
	Workspaces []studio.Workspace
	Workspace  string // the id of the one that is shown
	Projects   []projectCard
	Older      string // the path of the next page
	Newest     string // the path of the first page, on another
}

// projectCard is a project. Its members may be anything, because a project is imported as it is.
type projectCard struct {
	gen.Project

	ID        string
	Published bool
	Picture   string // an address of this origin
	Elsewhere picture
	Tags      []tag
}

// picture is one of another origin. A page links to it and does not load it: whoever serves it would learn who
// looks at the project, when and from where.
type picture struct{ Address, Host string }

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
		page, err := c.cfg.Studio.ProjectPage(r.Context(), s.ID, v.Workspace, query.Get("cursor"), pageSize)
		if err != nil {
			return err
		}
		for _, project := range page.Projects {
			v.Projects = append(v.Projects, card(project))
		}
		v.Older, v.Newest = paths(projectsPath, url.Values{"workspace": {v.Workspace}}, query.Get("cursor"), page.Next)
	}
	c.render(w, r, http.StatusOK, "projects", view{Title: "Projects", Section: projectsPath, Data: v})
	return nil
}

// paths are those of the pages that a page of a list leads to; "" where there is none.
func paths(path string, query url.Values, cursor, next string) (older, newest string) {
	at := func(cursor string) string {
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
		older = at(next)
	}
	if cursor != "" {
		newest = at("")
	}
	return older, newest
}

var color = regexp.MustCompile(`^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$`)

func card(p studio.Project) projectCard {
	v := projectCard{ID: p.ID, Published: p.Published}
	_ = json.Unmarshal(p.Document, &v.Project) // what cannot be read is not shown
	if v.Thumbnail != nil {
		v.Picture, v.Elsewhere = ownPicture(*v.Thumbnail), foreignPicture(*v.Thumbnail)
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

// ownPicture returns the address of a picture that a page may load: a path of this origin, or "".
func ownPicture(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.Contains(address, `\`) {
		return ""
	}
	return u.String()
}

// foreignPicture returns a picture that a page may link to; the zero picture is none.
func foreignPicture(address string) picture {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return picture{}
	}
	return picture{u.String(), u.Host}
}
