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

// listWriters have a buffer that holds most lists, because each write to w becomes a system call.
//
//nolint:gochecknoglobals // a pool
var listWriters = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 32<<10) }}

// VisitListProjectsResponse writes the response. The first page has been read, so an error can only be one in
// the middle. It truncates the response.
func (list projectList) VisitListProjectsResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	out := listWriters.Get().(*bufio.Writer) // keeps its first error, which Flush returns
	out.Reset(w)
	defer func() {
		out.Reset(nil)
		listWriters.Put(out)
	}()
	_, _ = out.WriteString(`{"data":[`)
	separator := ""
	for project, err := range list.All {
		if err != nil {
			return err
		}
		_, _ = out.WriteString(separator)
		if _, err := out.Write(project.Document); err != nil {
			return nil
		}
		separator = ","
	}
	counts := studio.ProjectList(list).Counts()
	_, _ = fmt.Fprintf(out, `],"size":%d,"unpublished_projects":%d}`+"\n", counts.Size, counts.Unpublished)
	_ = out.Flush() // fails if the caller has disconnected
	return nil
}
