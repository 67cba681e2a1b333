package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

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
