package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/gen"
)

// lister implements only listProjects.
type lister struct {
	gen.StrictServerInterface
	answer gen.ListProjectsResponseObject
}

func (l lister) ListProjects(context.Context, gen.ListProjectsRequestObject) (gen.ListProjectsResponseObject, error) {
	return l.answer, nil
}

func list(t *testing.T, answer gen.ListProjectsResponseObject) string {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, "/projects/v2", http.NoBody)
	request.Header.Set("X-Workspace-Id", "w")
	recorder := httptest.NewRecorder()
	gen.Handler(gen.NewStrictHandler(lister{answer: answer}, nil)).ServeHTTP(recorder, request)
	return strings.TrimSpace(recorder.Body.String())
}

// tree has a slice in every place of a struct that can contain one. Its method writes JSON like the methods of generated
// responses.
type tree struct {
	Needed  []string          `json:"needed"`
	Bytes   []byte            `json:"bytes"`
	Map     map[string]tree   `json:"map"`
	Wanted  []tree            `json:"wanted,omitempty"`
	Pointer *tree             `json:"pointer,omitempty"`
	Null    *[]string         `json:"null"`
	Raw     json.RawMessage   `json:"raw"`
	At      time.Time         `json:"at,omitzero"`
	Kept    map[string][]byte `json:"-"`
}

func (b tree) VisitListProjectsResponse(w http.ResponseWriter) error {
	return json.NewEncoder(w).Encode(b)
}

func TestGenerated_encodesNilSlicesAsEmptyArrays(t *testing.T) {
	t.Parallel()
	if got, want := list(t, gen.ListProjects200JSONResponse{}), `{"data":[],"size":0,"unpublished_projects":0}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	const empty = `"needed":[],"bytes":"","map":{}`
	const rest = `,"null":null,"raw":null}`
	made := func() tree {
		return tree{
			Needed: []string{"a"}, Map: map[string]tree{"a": {Needed: []string{"b"}}, "b": {}}, Wanted: []tree{{}, {}},
			Pointer: &tree{Wanted: []tree{}},
		}
	}
	answer := made()
	want := `{"needed":["a"],"bytes":"","map":{"a":{"needed":["b"],"bytes":"","map":{}` + rest + `,"b":{` + empty + rest + `},` +
		`"wanted":[{` + empty + rest + `,{` + empty + rest + `],"pointer":{` + empty + rest + rest
	if got := list(t, answer); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := list(t, &answer); got != want {
		t.Errorf("behind a pointer: got  %s\nwant %s", got, want)
	}
	if diff := cmp.Diff(made(), answer); diff != "" {
		t.Errorf("the response of the implementation was changed (-before +after):\n%s", diff)
	}
}
