package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

const readerEmail = "reader@example.com"

// fill adds a workspace with 20 MB of projects and a member, who has records of each kind, and 64 large ones that are
// rendered for as long as the test runs.
func fill(t *testing.T, dsn string) (workspace string) {
	t.Helper()
	service := studioOf(studiotest.Open(t, dsn))
	team := try(service.AddWorkspace(t.Context(), "", "Team"))(t)
	projects := make([]studio.Project, 2000)
	for i := range projects {
		projects[i] = studio.Project{
			ID: fmt.Sprint(i), WorkspaceID: team.ID, UserID: team.ID, CreatedAt: time.Now(), Document: fmt.Sprintf(`{"title":"%010000d"}`, i),
		}
	}
	try(service.ImportProjects(t.Context(), projects))(t)
	user := try(service.AddUser(t.Context(), "", readerEmail, testPassword))(t)
	check(t, service.AddMember(t.Context(), team.ID, readerEmail))
	for range 64 {
		try(service.CreateLipsync(t.Context(), studio.Creation{UserID: user.ID, Request: fmt.Appendf(nil, `{"title":"%0200000d"}`, 1)}))(t)
	}
	creation := studio.Creation{UserID: user.ID, Request: fmt.Appendf(nil, `{"text":"%01000d"}`, 1)}
	for range 50 {
		avatar := try(service.CreateAvatar(t.Context(), creation))(t)
		try(service.SubmitConsent(t.Context(), user.ID, avatar.ID, true))(t)
		try(service.Rendered(t.Context(), avatar.ID, studio.Rendering{}, nil))(t)
		try(service.CreateVideo(t.Context(), avatar.ID, creation))(t)
		try(service.CreateLipsync(t.Context(), creation))(t)
	}
	return team.ID
}

// readers returns a crowd for everything that a process serves and that may be large, or only for what is in the
// database. Each connection requests it once, and reads a byte a second.
func readers(t *testing.T, p *process, workspace string, stored bool) (all []*crowd) {
	t.Helper()
	pair := login(t, p.URL, readerEmail)
	user, page := bearer(pair.AccessToken)+"\r\n", "Cookie: "+consoleCookie(t, p.URL, pair.RefreshToken)+"\r\n"
	add := func(path, header, body string) *crowd {
		method := http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
		request := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: studio\r\nContent-Length: %d\r\n%s\r\n%s", method, path, len(body), header, body)
		c := &crowd{name: path, slow: true, sends: request}
		if !stored || header != "" {
			all = append(all, c)
		}
		return c
	}
	for _, path := range []string{"/v1/avatars/list?limit=100", "/v1/avatars/list_inferences?limit=100", "/v1/lipsync/list?limit=100"} {
		add(path, user, "")
	}
	add("/projects/v2", user+"X-Workspace-Id: "+workspace+"\r\n", "")
	for _, path := range []string{"/console/lipsyncs", "/console/lipsyncs/live", "/console/projects?workspace=" + workspace} {
		add(path, page, "")
	}
	add("/v1/lipsync/create_lipsync", user+"Content-Type: application/json\r\n", `{"title":"`+strings.Repeat("a", 200<<10)+`"}`).divide = 8
	for _, path := range []string{
		"/docs/swagger-ui-bundle.js", "/docs", "/openapi.json", "/openapi.yaml", "/nowhere", "/console/assets/htmx.min.js", "/console/login",
		uploadFile(t, p.URL, pair.AccessToken),
	} {
		add(path, "", "")
	}
	for _, path := range []string{"/metrics", "/readyz", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1"} {
		add(path, "", "").url = p.AdminURL
	}
	return all
}

// uploadFile uploads 16 MiB and returns the path of the file.
func uploadFile(t *testing.T, url, token string) (path string) {
	t.Helper()
	_, content := ask(t, http.MethodPost, url+uploadPath, string(make([]byte, 16<<20)), "Content-Type: video/mp4", bearer(token))
	var file gen.Media
	check(t, json.Unmarshal([]byte(content), &file))
	return strings.TrimPrefix(file.URL, url)
}
