package rest

import (
	"bufio"
	"context"
	"fmt"
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

// VisitListProjectsResponse writes the response. An error in the middle truncates it.
func (list projectList) VisitListProjectsResponse(w http.ResponseWriter) error {
	out := bufio.NewWriter(w) // keeps its first error, which Flush returns
	begun := false
	for project, err := range list.All {
		if err != nil {
			return err
		}
		if begun {
			_ = out.WriteByte(',')
		} else {
			begin(w, out)
			begun = true
		}
		if _, err := out.Write(project.Document); err != nil {
			return nil
		}
	}
	counts, err := list.Counts() // last, because counting many projects takes time
	if err != nil {
		return err
	}
	if !begun {
		begin(w, out)
	}
	_, _ = fmt.Fprintf(out, `],"size":%d,"unpublished_projects":%d}`+"\n", counts.Size, counts.Unpublished)
	_ = out.Flush() // fails if the caller has disconnected
	return nil
}

// begin starts the response. It is called after the first project has been read, so that earlier errors are
// sent as error responses.
func begin(w http.ResponseWriter, out *bufio.Writer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_, _ = out.WriteString(`{"data":[`)
}
