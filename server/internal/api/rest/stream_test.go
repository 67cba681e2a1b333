package rest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/api/rest"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// listLength requests the projects of the workspace without a check, which would buffer them. It returns the header and
// the length of the response.
func (s *setup) listLength() (header string, length int) {
	request := httptest.NewRequest(http.MethodGet, "/projects/v2", nil)
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("X-Workspace-Id", s.workspace.ID)
	response := httptest.NewRecorder()
	s.handler.ServeHTTP(response, request)
	return response.Header().Get("Content-Length"), response.Body.Len()
}

// A list consists of the documents as they were imported. A short one has a Content-Length, so that clients know how
// much they will read, and a long one is sent while it is read.
func TestListProjects_listsWhatWasImported(t *testing.T) {
	inMemory(t, func(s *setup) {
		const document = `{"project_id":"01936f3e-7d00-7c4d-8e55-3a7a2b1c0d20","title":"One","status":"draft","unknown":1}`
		_, err := s.studio.ImportProjects(t.Context(), []studio.Project{
			{ID: "1", WorkspaceID: s.workspace.ID, UserID: s.user.ID, Document: document},
			{ID: "0", WorkspaceID: s.workspace.ID, UserID: s.user.ID, Published: true, Document: `{"title":null}`},
		})
		s.check(err)
		_, answer := s.do("GET", "/projects/v2", "", map[string]string{"x-workspace-id": s.workspace.ID})
		if want := `{"data":[` + document + `,{"title":null}],"size":2,"unpublished_projects":1}` + "\n"; answer != want {
			t.Errorf("got  %s\nwant %s", answer, want)
		}
		s.serve(rest.New(s.studio), server.Config{}) // checked responses are buffered
		if header, length := s.listLength(); header != fmt.Sprint(length) {
			t.Errorf("a short list of %d bytes has the Content-Length %q", length, header)
		}
		long := make([]studio.Project, 100)
		for i := range long {
			long[i] = studio.Project{
				ID: fmt.Sprint("p", i), WorkspaceID: s.workspace.ID, UserID: s.user.ID, Document: fmt.Sprintf(`{"title":"%01000d"}`, i),
			}
		}
		_, err = s.studio.ImportProjects(t.Context(), long)
		s.check(err)
		if header, length := s.listLength(); header != "" {
			t.Errorf("a long list of %d bytes has the Content-Length %q", length, header)
		}
	})
}
