package rest

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/avatarstudio/avatarstudio/api/runtime/encode"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// ListProjects serves GET /projects/v2.
func (a *API) ListProjects(
	ctx context.Context, request gen.ListProjectsRequestObject,
) (gen.ListProjectsResponseObject, error) {
	p := request.Params
	list, err := a.studio.ListProjects(ctx, caller(ctx), studio.ProjectFilter{WorkspaceID: p.WorkspaceID, Title: value(p.Title)})
	if err != nil {
		return nil, err
	}
	return projectList{a, list}, nil
}

// projectList writes the projects while they are read, so that memory does not grow with the length of the
// list.
type projectList struct {
	api *API
	*studio.ProjectList
}

const (
	// maxUnsent is how many bytes of a list are written before they are sent, unless they are the last.
	maxUnsent = 8 << 10
	// writeBytes is how much of a list is written at once. Most lists are shorter, and have a Content-Length.
	writeBytes = 32 << 10
	// maxPooled limits the buffers that are used again, because a project may be large.
	maxPooled = 2 * writeBytes
)

//nolint:gochecknoglobals // a pool
var bodies = sync.Pool{New: func() any { return new(make([]byte, 0, writeBytes)) }}

// VisitListProjectsResponse writes the response. The first page has been read, so an error can only be one in
// the middle. It truncates the response, if that has begun.
func (list projectList) VisitListProjectsResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	pooled := bodies.Get().(*[]byte) //nolint:forcetypeassert // the pool has no other type
	body := (*pooled)[:0]
	defer func() {
		if cap(body) <= maxPooled {
			*pooled = body
		}
		bodies.Put(pooled)
	}()
	control, begun, unsent := http.NewResponseController(w), false, 0
	write := func() error {
		_, err := w.Write(body)
		begun, unsent, body = true, unsent+len(body), body[:0]
		return err
	}
	separator := `{"data":[`
	for page, err := range list.Pages {
		if err != nil {
			return err
		}
		for _, project := range page {
			body = append(body, separator...)
			if project.Subject == nil {
				body = append(body, project.Document...)
			} else {
				converted := list.api.project(&project)
				if body, err = encode.Append(body, &converted); err != nil {
					return err
				}
			}
			if separator = ","; len(body) >= writeBytes && write() != nil {
				return nil // the caller has disconnected
			}
		}
		if unsent+len(body) > maxUnsent && list.More {
			if write() != nil {
				return nil
			}
			_ = control.Flush() // the next page is read after the client has read this one
			unsent = 0
		}
	}
	if separator != "," {
		body = append(body, separator...)
	}
	body = fmt.Appendf(body, `],"size":%d,"unpublished_projects":%d}`+"\n", list.Counts.Size, list.Counts.Unpublished)
	if !begun {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	_ = write() // the caller may have disconnected
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
		UserID: &s.UserID, ProjectID: &s.ID, Title: s.Title, ProjectType: new(s.Kind.Rules().ProjectType),
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
