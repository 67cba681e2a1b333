package main

import (
	"strings"
	"testing"
)

const projectID = "01936f3e-7d00-7c4d-8e55-3a7a2b1c0d20"

func TestParseProjects_acceptsListResponse(t *testing.T) {
	t.Parallel()
	file := []byte(`{
		"size": 2, "more": {"data": [7]},
		"data": [
			{
				"project_id": "` + strings.ToUpper(projectID) + `", "status": "Published", "unknown": [1, 2],
				"created_at": "2026-01-12T11:30:00+02:00", "updated_at": null
			}, {"project_id": "01936f3e-7d00-7c4d-8e55-3a7a2b1c0d21", "user_id": "` + projectID + `", "status": null}
		]
	}`)
	projects := try(parseProjects(file, "films"))(t)
	if len(projects) != 2 {
		t.Fatalf("%d projects", len(projects))
	}
	one, two := projects[0], projects[1]
	if one.ID != projectID || one.WorkspaceID != "films" || !one.Published || one.CreatedAt.Format("15:04") != "09:30" {
		t.Errorf("%+v", one)
	}
	if two.UserID != projectID || two.Published || !two.CreatedAt.IsZero() {
		t.Errorf("%+v", two)
	}
	want := `{"created_at":"2026-01-12T09:30:00Z","project_id":"` + strings.ToUpper(projectID) + `","status":"Published","unknown":[1,2],"updated_at":null}`
	if one.Document != want {
		t.Errorf("document is %s", one.Document)
	}
	if projects, err := parseProjects([]byte(` {"data": [] } `), "films"); err != nil || len(projects) != 0 {
		t.Errorf("an empty list has %d projects, %v", len(projects), err)
	}
}

func TestParseProjects_namesThePlaceOfTheFirstError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, want string }{
		"nothing":            {``, "line 1: invalid JSON"},
		"no data":            {`{"size":1}`, "not a project list"},
		"a missing comma":    {"{\"data\":[\n{\"project_id\":\"" + projectID + "\"}\n{}]}", "line 3: invalid JSON"},
		"duplicate name":     {"{\"data\":[],\n\"data\":[]}", "line 2: invalid JSON"},
		"no object":          {"{\"data\":[\n7]}", "/data/0 "},
		"no id":              {"{\"data\":[\n{\"title\":\"hunter2\"}]}", "/data/0 has no project_id"},
		"an id that is none": {"{\"data\":[{\n\"title\":\"a\",\n\"project_id\":\"hunter2\"}]}", "/data/0/project_id"},
		"the second project": {"{\"data\":[\n{\"project_id\":\"" + projectID + "\"},\n{}]}", "/data/1 has no project_id"},
	} {
		_, err := parseProjects([]byte(test.file), "films")
		if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}
