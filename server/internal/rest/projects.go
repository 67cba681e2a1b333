package rest

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/avatarstudio/avatarstudio/api/encode"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// ListProjects serves GET /projects/v2.
func (a *API) ListProjects(
	ctx context.Context, request gen.ListProjectsRequestObject,
) (gen.ListProjectsResponseObject, error) {
	list, err := a.studio.ListProjects(ctx, caller(ctx), request.Params.WorkspaceID)
	if err != nil {
		return nil, err
	}
	return projectList{a, list}, nil
}

// projectList writes the projects while they are read, so that memory does not grow with the length of the
// list.
type projectList struct {
	api *API
	studio.ProjectList
}

// maxUnsent is how many bytes of a list are written before they are sent, unless they are the last.
const maxUnsent = 8 << 10

// bodies are buffers for lists. Most lists fit in one, and are written at once.
//
//nolint:gochecknoglobals // a pool
var bodies = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 32<<10) }}

// VisitListProjectsResponse writes the response. The first page has been read, so an error can only be one in
// the middle. It truncates the response.
func (list projectList) VisitListProjectsResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	body := bodies.Get().(*bufio.Writer) //nolint:forcetypeassert // the pool has no other type
	body.Reset(w)
	defer func() {
		body.Reset(nil) // it holds no response in the pool
		bodies.Put(body)
	}()
	control, unsent := http.NewResponseController(w), 0
	var text []byte
	separator := `{"data":[`
	for page, err := range list.Pages {
		if err != nil {
			return err
		}
		for _, project := range page {
			_, _ = body.WriteString(separator)
			n := 0
			if project.Subject == nil {
				n, err = body.WriteString(project.Document)
			} else {
				converted := list.api.project(&project)
				if text, err = encode.Append(text[:0], &converted); err != nil {
					return err
				}
				n, err = body.Write(text)
			}
			if err != nil {
				return nil // the caller has disconnected
			}
			separator, unsent = ",", unsent+n
		}
		if unsent > maxUnsent && list.More() {
			_ = body.Flush()
			_ = control.Flush() // the next page is read after the client has read this one
			unsent = 0
		}
	}
	if separator != "," {
		_, _ = body.WriteString(separator)
	}
	counts := list.Counts()
	_, _ = fmt.Fprintf(body, `],"size":%d,"unpublished_projects":%d}`+"\n", counts.Size, counts.Unpublished)
	_ = body.Flush() // the caller may have disconnected
	return nil
}

// UpdateProject serves POST /v1/projects/update.
func (a *API) UpdateProject(ctx context.Context, request gen.UpdateProjectRequestObject) (gen.UpdateProjectResponseObject, error) {
	body := request.Body
	change := studio.ProjectChange{WorkspaceID: value(request.Params.ChangedWorkspaceID), Title: body.Title, CustomThumbnail: body.CustomThumbnail, Shared: body.Shared}
	if body.Tags != nil {
		change.Tags = &studio.Tags{Colors: value(body.Tags.Colors), Names: value(body.Tags.Names)}
	}
	project, err := a.studio.UpdateProject(ctx, caller(ctx), body.ProjectID, change)
	if err != nil {
		return nil, err
	}
	return gen.UpdateProject200JSONResponse(a.project(&project)), nil
}

// project converts a project that is a subject.
func (a *API) project(p *studio.Project) gen.Project {
	s := p.Subject
	made, file := &s.Rendering, func(name string) string { return a.studio.ResultURL(s.ID, name) }
	used := int(p.VideoSeconds)
	project := gen.Project{
		UserID: &s.UserID, ProjectID: &s.ID, Title: s.Title, ProjectType: new(projectTypes[s.Kind]),
		CreatedAt: &s.CreatedAt, UpdatedAt: &s.UpdatedAt, Status: new(p.Status()),
		Thumbnail: optional(file(made.Thumbnail)),
		Thumbnails: &gen.Thumbnails{
			ThumbnailPNG: new(file(made.Previews.Still)), ThumbnailPlayPNG: new(file(made.Previews.StillPlay)),
			ThumbnailGIF: new(file(made.Previews.Animation)), ThumbnailPlayGIF: new(file(made.Previews.AnimationPlay)),
			CustomThumbnail: new(file(s.Project.CustomThumbnail)),
		},
		Video: optional(file(made.Video)), VoicePath: optional(file(made.Voice)), SRT: optional(file(made.Subtitles)),
		Language: optional(made.Language), UtilisedCredits: &used,
		SmartURL: optional(a.studio.ShareURL(s)), DataPlaneID: optional(a.studio.DataPlaneID),
	}
	if made.Subtitles != "" {
		project.SRTTargetLanguage = project.Language
	}
	if left, ok := a.studio.CreditsLeft(p.VideoSeconds); ok {
		project.AvailableCredits = new(int(left))
	}
	if tags := s.Project.Tags; tags.Colors != nil || tags.Names != nil {
		project.Tags = &gen.Tags{Colors: &tags.Colors, Names: &tags.Names}
	}
	switch s.Kind {
	case studio.Avatar:
		project.TrainingJobID = &s.ID
	case studio.Lipsync:
	case studio.Video:
		project.TrainingJobID = &s.AvatarID
		var input gen.CreateVideoRequest
		readInput(*s, &input)
		project.RecordingScript = input.Text.Value
		if project.Language == nil {
			project.Language = input.Language.Value
		}
	}
	return project
}

// projectTypes are the types of the projects that are subjects. The interface shows only PERSONALIZED.
//
//nolint:gochecknoglobals // a table
var projectTypes = map[studio.Kind]string{studio.Avatar: "AVATAR", studio.Video: "PERSONALIZED", studio.Lipsync: "LIPSYNC"}
