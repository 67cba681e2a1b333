package rest

import (
	"context"
	"fmt"
	"io"
	"net/http"

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

// VisitListProjectsResponse writes the response. The first page has been read, so an error can only be one in
// the middle. It truncates the response.
func (list projectList) VisitListProjectsResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	control, unsent := http.NewResponseController(w), 0
	separator := `{"data":[`
	for page, err := range list.Pages {
		if err != nil {
			return err
		}
		for _, project := range page {
			_, _ = io.WriteString(w, separator)
			n, err := w.Write(project.Document)
			if err != nil {
				return nil // the caller has disconnected
			}
			separator, unsent = ",", unsent+n
		}
		if unsent > maxUnsent && studio.ProjectList(list).More() {
			_ = control.Flush() // the next page is read after the client has read this one
			unsent = 0
		}
	}
	if separator != "," {
		_, _ = io.WriteString(w, separator)
	}
	counts := studio.ProjectList(list).Counts()
	_, _ = fmt.Fprintf(w, `],"size":%d,"unpublished_projects":%d}`+"\n", counts.Size, counts.Unpublished)
	return nil
}
