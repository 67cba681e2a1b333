package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// hostile must be shown as text, not as HTML.
const hostile = `<script>document.title = "taken"</script>"'>`

// addProjects adds projects to the workspace. The first one is the newest.
func (s *site) addProjects(t testing.TB, documents ...map[string]any) {
	t.Helper()
	var projects []studio.Project
	for i, document := range documents {
		text, err := json.Marshal(document)
		check(t, err)
		projects = append(projects, studio.Project{
			ID: fmt.Sprintf("project-%05d", i), WorkspaceID: s.workspace, UserID: s.user.ID,
			CreatedAt: time.Now().Add(-time.Duration(i) * time.Hour), Document: text, Published: document["status"] == "PUBLISHED",
		})
	}
	if _, err := s.studio.ImportProjects(t.Context(), projects); err != nil {
		t.Fatal(err)
	}
}

func TestProjects_showMembersSafely(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	s.addProjects(t, map[string]any{
		"title": "Welcome", "status": "PUBLISHED", "language": "english", "available_credits": 120, "utilised_credits": 7, "thumbnail": "/media/own.png", "recording_script": "Hello & welcome.", "video": "https://videos.example/a.mp4",
		"tags": map[string]any{"names": []string{"onboarding", "plain"}, "colors": []string{"#2D7FF9", "javascript:red"}},
	}, map[string]any{"title": hostile, "status": hostile, "language": hostile, "thumbnail": "javascript:alert(1)", "tags": map[string]any{"names": []string{hostile}, "colors": []string{hostile}}},
		map[string]any{"title": nil, "thumbnail": "https://elsewhere.example/a.png"}, map[string]any{"thumbnail": "https://ada:hunter2@elsewhere.example/"},
		map[string]any{"thumbnail": "//hidden.example/a.png"}, map[string]any{"thumbnail": "///hidden.example/a.png"}, map[string]any{"thumbnail": `/\hidden.example/a.png`}, map[string]any{"thumbnail": "data:text/html,<script>"})
	p := s.signIn(t, email).get("/console/projects")
	p.want(t, http.StatusOK, "<h2>Welcome</h2>", `class="badge published">PUBLISHED`, "english", "onboarding", `fill="#2D7FF9"`, "<dd>120</dd>", "<dd>7</dd>",
		`src="/media/own.png"`, `href="/console/videos/new?text=Hello&#43;%26&#43;welcome.&amp;title=Welcome"`, ">Watch on videos.example<", `href="/console/avatars/new"`, "Untitled project", "&lt;script&gt;",
		`<a href="https://elsewhere.example/a.png" target="_blank" rel="noopener noreferrer">Thumbnail on elsewhere.example</a>`)
	p.wantNone(t, "<script>document", "javascript:", `src="http`, "hunter2", "hidden.example", "data:text")
}

// Each project is on exactly one page, and only members of the workspace see it.
func TestProjects_arePaginated(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	var documents []map[string]any
	for i := range 60 {
		documents = append(documents, map[string]any{"title": fmt.Sprintf("Project %d.", i)})
	}
	s.addProjects(t, documents...)
	v := s.signIn(t, email)
	older := regexp.MustCompile(`href="([^"]+)" rel="next"`)
	seen, path := 0, "/console/projects"
	for pages := 1; path != ""; pages++ {
		p := v.get(path)
		p.want(t, http.StatusOK)
		for strings.Contains(p.text, fmt.Sprintf("<h2>Project %d.</h2>", seen)) {
			seen++
		}
		path = ""
		if found := older.FindStringSubmatch(p.text); found != nil {
			path = strings.ReplaceAll(found[1], "&amp;", "&")
		}
	}
	if seen != 60 {
		t.Errorf("the pages show %d projects, want 60", seen)
	}
	v.get("/console/projects?cursor=made-up").want(t, http.StatusBadRequest, "does not match")

	studiotest.AddUser(t, s.studio, "bob@example.com")
	bob := s.signIn(t, "bob@example.com")
	bob.get("/console/projects").want(t, http.StatusOK, "You are not a member of any workspace.")
	bob.get("/console/projects?"+url.Values{"workspace": {s.workspace}}.Encode()).want(t, http.StatusForbidden, "not a member")
}
