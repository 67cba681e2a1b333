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

// projectList writes the projects as they are read, so that a long list takes no more memory
// than a short one.
type projectList studio.ProjectList

// VisitListProjectsResponse writes the answer. An error in the middle breaks it off.
func (list projectList) VisitListProjectsResponse(w http.ResponseWriter) error {
	out := bufio.NewWriter(w) // its first error stays and is returned by Flush
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
	counts, err := list.Counts() // at the end, because counting many takes time
	if err != nil {
		return err
	}
	if !begun {
		begin(w, out)
	}
	_, _ = fmt.Fprintf(out, `],"size":%d,"unpublished_projects":%d}`+"\n", counts.Size, counts.Unpublished)
	_ = out.Flush() // fails when the caller has gone
	return nil
}

// begin is put off until the first project is read: before that, an error is still answered.
func begin(w http.ResponseWriter, out *bufio.Writer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_, _ = out.WriteString(`{"data":[`)
}
