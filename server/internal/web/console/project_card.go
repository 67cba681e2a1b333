package console

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// maxScriptBytes bounds a script in a link.
const maxScriptBytes = 5000

// projectCard is a project in the list. Imported projects are not validated, so any member may be missing or
// hostile.
type projectCard struct {
	gen.Project

	Kind     string // "" for an imported project
	Badge    string // the class of the status
	Path     string // what the card leads to; "" for nothing
	Picture  string // the thumbnail, if it is on this origin
	Moving   string // the moving thumbnail, if it is on this origin
	External link   // the thumbnail, if it is on another origin
	Watch    link   // the video, if it is on another origin
	Script   string // the path of the form for a video of the script; "" without a script
	Shared   bool
	Tags     []tag
}

// link is a link to another origin. Pages load nothing from other origins, so that their servers do not learn who
// views a project, when and from which address.
type link struct{ URL, Host string }

type tag struct{ Name, Color string }

var color = regexp.MustCompile(`^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$`)

// newProjectCard returns the card of a project for a member of its workspace.
func newProjectCard(p studio.Project, userID string) projectCard {
	v := projectCard{}
	if p.Published {
		v.Badge = string(studio.Published)
	}
	if p.Subject != nil {
		v.showSubject(p, userID)
	} else {
		v.showDocument(p.Document)
	}
	if v.Title != nil {
		title := studio.Line(*v.Title)
		if v.Title = &title; title == "" {
			v.Title = nil
		}
	}
	if v.Project.Tags != nil && v.Project.Tags.Names != nil {
		for i, name := range *v.Project.Tags.Names {
			t := tag{Name: studio.Line(name)}
			if colors := v.Project.Tags.Colors; colors != nil && i < len(*colors) && color.MatchString((*colors)[i]) {
				t.Color = (*colors)[i]
			}
			v.Tags = append(v.Tags, t)
		}
	}
	return v
}

// showSubject shows a project that is a subject. Its page is for its owner only, so other members see the video itself.
func (v *projectCard) showSubject(p studio.Project, userID string) {
	subject, kind, path := p.Subject, kindOf(p.Subject.Kind), projectsPath+"/"+url.PathEscape(p.ID)+"/"
	v.Title, v.CreatedAt, v.Kind, v.Badge = subject.Title, &subject.CreatedAt, kind.Singular, p.Status()
	v.Status = new(words(p.Status()))
	if subject.Rendering.Language != "" {
		v.Language = &subject.Rendering.Language
	}
	v.Shared = !subject.Project.SharedAt.IsZero()
	v.Project.Tags = &gen.Tags{Names: &subject.Project.Tags.Names, Colors: &subject.Project.Tags.Colors}
	if name := fileOf(*subject, pictureFile); name != "" {
		v.Picture = path + pictureFile + "?" + url.QueryEscape(name) // another picture has another URL
	}
	if fileOf(*subject, movingFile) != "" {
		v.Moving = path + movingFile
	}
	switch {
	case subject.UserID == userID:
		v.Path = kind.pathOf(p.ID)
	case subject.Rendering.Video != "":
		v.Path = path + videoFile
	}
}

// showDocument shows an imported project.
func (v *projectCard) showDocument(document string) {
	_ = json.Unmarshal([]byte(document), &v.Project) // members that cannot be decoded are not shown
	if v.Thumbnail != nil {
		v.Picture, v.External = localPicture(*v.Thumbnail), externalLink(*v.Thumbnail)
	}
	if v.Thumbnails != nil && v.Thumbnails.ThumbnailGIF != nil {
		v.Moving = localPicture(*v.Thumbnails.ThumbnailGIF)
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
}

// localPicture returns address if it is a path on this origin, or "". Browsers take several slashes at the beginning
// for the begin of a host.
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
