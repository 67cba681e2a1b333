package rest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/api/rest"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// streamWriter discards a response and records how much memory was in use.
type streamWriter struct {
	header http.Header
	bytes  int64
	looked int64
	most   uint64
}

func (w *streamWriter) Header() http.Header { return w.header }
func (w *streamWriter) WriteHeader(int)     {}

func (w *streamWriter) Write(data []byte) (int, error) {
	w.bytes += int64(len(data))
	if w.bytes > w.looked+1<<18 {
		w.looked = w.bytes
		w.most = max(w.most, heap())
	}
	return len(data), nil
}

func heap() uint64 {
	runtime.GC() // so that garbage does not count
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// list requests the projects of the workspace and returns the response and the memory that was used.
func (s *setup) list() (w *streamWriter, memory uint64) {
	request := httptest.NewRequest(http.MethodGet, "/projects/v2", nil)
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("X-Workspace-Id", s.workspace.ID)
	idle := heap()
	w = &streamWriter{header: make(http.Header), most: idle}
	s.handler.ServeHTTP(w, request)
	return w, w.most - idle
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
		if w, _ := s.list(); w.header.Get("Content-Length") != fmt.Sprint(w.bytes) {
			t.Errorf("a short list of %d bytes has the header %v", w.bytes, w.header)
		}
		s.importMany(100, 1000)
		if w, _ := s.list(); w.header.Get("Content-Length") != "" {
			t.Errorf("a long list of %d bytes has the header %v", w.bytes, w.header)
		}
	})
}

// Memory does not grow with the length of the list. The test is not parallel because it measures the whole
// process. Responses are not checked, because that would buffer them.
func TestListProjects_usesConstantMemory(t *testing.T) {
	const projects, size, most = 400, 10_000, 1 << 20
	for name, create := range studiotest.Databases() {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t, studiotest.Open(t, create(t)), server.ResponsesUnchecked)
			s.importMany(projects, size)
			if w, memory := s.list(); w.bytes < projects*size || memory > most {
				t.Errorf("%d bytes took %d bytes of memory, want less than %d", w.bytes, memory, most)
			}
		})
	}
}

// importMany imports projects of a size.
func (s *setup) importMany(n, size int) {
	s.t.Helper()
	document := fmt.Sprintf(`{"title":"%0*d"}`, size, 1)
	projects := make([]studio.Project, n)
	for i := range projects {
		projects[i] = studio.Project{
			ID: fmt.Sprint("p", i), WorkspaceID: s.workspace.ID, UserID: s.user.ID,
			CreatedAt: s.clock.Now().Add(time.Duration(i) * time.Second), Document: document,
		}
	}
	_, err := s.studio.ImportProjects(s.t.Context(), projects)
	s.check(err)
}
