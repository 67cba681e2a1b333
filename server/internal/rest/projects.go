package rest

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"sync"

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
	return projectList(list), nil
}

// projectList writes the projects while they are read, so that memory does not grow with the length of the
// list.
type projectList studio.ProjectList

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
	separator := `{"data":[`
	for page, err := range list.Pages {
		if err != nil {
			return err
		}
		for _, project := range page {
			_, _ = body.WriteString(separator)
			n, err := body.Write(project.Document)
			if err != nil {
				return nil // the caller has disconnected
			}
			separator, unsent = ",", unsent+n
		}
		if unsent > maxUnsent && studio.ProjectList(list).More() {
			_ = body.Flush()
			_ = control.Flush() // the next page is read after the client has read this one
			unsent = 0
		}
	}
	if separator != "," {
		_, _ = body.WriteString(separator)
	}
	counts := studio.ProjectList(list).Counts()
	_, _ = fmt.Fprintf(body, `],"size":%d,"unpublished_projects":%d}`+"\n", counts.Size, counts.Unpublished)
	_ = body.Flush() // the caller may have disconnected
	return nil
}
