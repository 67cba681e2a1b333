package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// answeringWith returns a client of a service that responds to every request with body.
func answeringWith(tb testing.TB, body string) *client.Client {
	tb.Helper()
	c, err := client.New(client.Config{
		BaseURL: "http://localhost", Token: "static-1", Workspace: workspace,
		Transport: canned{http.Header{"Content-Type": {"Application/JSON; charset=utf-8"}}, []byte(body)},
	})
	check(tb, err)
	return c
}

// A member of a project that cannot be decoded is omitted, and the others are decoded.
func TestListProjects_omitsInvalidMembers(t *testing.T) {
	t.Parallel()
	const list = `{"data":[%s],"size":3,"unpublished_projects":1}`
	for name, test := range map[string]struct {
		items   string
		want    []gen.Project
		leftOut []string
	}{
		"time, no zone":  {`{"title":"a","created_at":"2026-01-12T09:30:00"}`, []gen.Project{{Title: new("a"), CreatedAt: new(moment)}}, nil},
		"time, no secs":  {`{"updated_at":"2026-01-12T09:30","title":"a"},{"title":"b"}`, []gen.Project{{Title: new("a"), UpdatedAt: new(moment)}, {Title: new("b")}}, nil},
		"time, garbage":  {`{"title":"a"},{"created_at":"yesterday","title":"b"}`, []gen.Project{{Title: new("a")}, {Title: new("b")}}, []string{"/data/1/created_at"}},
		"id, no UUID":    {`{"project_id":"507f1f77bcf86cd799439011","data_plane_id":""}`, []gen.Project{{ProjectID: new("507f1f77bcf86cd799439011"), DataPlaneID: new("")}}, nil},
		"id, number":     {`{"project_id":7,"user_id":"u"}`, []gen.Project{{UserID: new("u")}}, []string{"/data/0/project_id"}},
		"null":           {`{"created_at":null,"title":"a","project_id":7}`, []gen.Project{{Title: new("a")}}, []string{"/data/0/project_id"}},
		"object, text":   {`{"tags":"red","thumbnails":[],"title":"a"}`, []gen.Project{{Title: new("a")}}, []string{"/data/0/tags", "/data/0/thumbnails"}},
		"inside":         {`{"tags":{"colors":["red",1,"blue"],"names":{}},"thumbnails":{"thumbnail_png":1,"thumbnail_gif":"g"}}`, []gen.Project{{Tags: &gen.Tags{Colors: &[]string{"red", "blue"}}, Thumbnails: &gen.Thumbnails{ThumbnailGIF: new("g")}}}, []string{"/data/0/tags/colors/1", "/data/0/tags/names", "/data/0/thumbnails/thumbnail_png"}},
		"item, text":     {`"a",{"title":"b"},7`, []gen.Project{{Title: new("b")}}, []string{"/data/0", "/data/2"}},
		"item, null":     {`null,{"title":1}`, []gen.Project{{}, {}}, []string{"/data/1/title"}},
		"unknown":        {`{"mood":{"created_at":"x"},"title":1}`, []gen.Project{{}}, []string{"/data/0/title"}},
		"beyond an int":  {`{"available_credits":1e400,"title":"a"}`, []gen.Project{{Title: new("a")}}, []string{"/data/0/available_credits"}},
		"leap and comma": {`{"created_at":"20160731T235960,5Z"}`, []gen.Project{{CreatedAt: new(time.Date(2016, time.August, 1, 0, 0, 0, 5e8, time.UTC))}}, nil},
	} {
		response := client.Response{LeftOut: []string{"of another call"}}
		got, err := answeringWith(t, fmt.Sprintf(list, test.items)).ListProjects(t.Context(), client.WithResponse(&response))
		check(t, err)
		if diff := cmp.Diff(&gen.ProjectList{Data: test.want, Size: 3, UnpublishedProjects: 1}, got); diff != "" {
			t.Errorf("%s: %v", name, diff)
		}
		slices.Sort(response.LeftOut)
		if diff := cmp.Diff(test.leftOut, response.LeftOut); diff != "" {
			t.Errorf("%s: %v", name, diff)
		}
	}
}

// All other responses are decoded in the same way. They may have unknown members and values, and lack members. A
// required member that cannot be decoded is an error.
func TestAnswer_omitsInvalidMembers(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		avatar  *gen.Avatar
		leftOut []string
	}{
		`{"avatar_id":"a","status":"failed","created_at":"2026-01-12 09:30","title":7}`: {
			&gen.Avatar{AvatarID: "a", Status: "failed", CreatedAt: new(moment)}, []string{"/title"},
		},
		`{"avatar_id":"a","status":"resting","mood":{"x":[1]},"created_at":"2026-01-12T09:30:00Z"}`: {
			&gen.Avatar{AvatarID: "a", Status: "resting", CreatedAt: new(moment)}, nil,
		},
		`{"avatar_id":null,"status":null,"title":null,"created_at":null,"updated_at":null}`: {&gen.Avatar{}, nil},

		`{"avatar_id":7,"status":"failed"}`:     {},
		`{"avatar_id":"a","status":["failed"]}`: {},
		`"avatar"`:                              {},
		`null`:                                  {},
		`{"avatar_id":"a","created_at":"x"`:     {},
		`{"created_at":"x"} {}`:                 {},
	} {
		var response client.Response
		avatar, err := answeringWith(t, body).GetAvatar(t.Context(), "a", client.WithResponse(&response))
		if (want.avatar == nil) != errors.Is(err, client.ErrDecode) {
			t.Errorf("%s: error %v", body, err)
		}
		if diff := cmp.Diff(want.avatar, avatar); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
		if diff := cmp.Diff(want.leftOut, response.LeftOut); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

// LeftOut is limited, even if every member of a response is invalid.
func TestResponse_leftOutIsBounded(t *testing.T) {
	t.Parallel()
	var response client.Response
	body := `{"data":[` + strings.Repeat(`{"title":7},`, 5000) + `{}],"size":0,"unpublished_projects":0}`
	list, err := answeringWith(t, body).ListProjects(t.Context(), client.WithResponse(&response))
	if err != nil || len(list.Data) != 5001 || len(response.LeftOut) != 1000 {
		t.Errorf("error %v, %d left out", err, len(response.LeftOut))
	}
}
