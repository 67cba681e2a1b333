package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// hostile must be shown as text, not as HTML.
const hostile = `<script>document.title = "taken"</script>"'>`

// addProjects adds projects to the workspace. The first one is the newest.
func (s *site) addProjects(t testing.TB, documents ...map[string]any) {
	t.Helper()
	var projects []studio.Project
	for i, document := range documents {
		text := try(json.Marshal(document))(t)
		projects = append(projects, studio.Project{
			ID: fmt.Sprintf("project-%05d", i), WorkspaceID: s.workspace, UserID: s.user.ID,
			CreatedAt: time.Now().Add(-time.Duration(i) * time.Hour), Document: string(text), Published: document["status"] == "PUBLISHED",
		})
	}
	try(s.studio.ImportProjects(t.Context(), projects))(t)
}

func TestProjects_showMembersSafely(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	s.addProjects(t, map[string]any{
		"title": "Welcome", "status": "PUBLISHED", "language": "english", "available_credits": 120, "utilised_credits": 7, "thumbnail": "/media/own.png", "recording_script": "Hello & welcome.", "video": "https://videos.example/a.mp4",
		"tags": map[string]any{"names": []string{"onboarding", "plain"}, "colors": []string{"#2D7FF9", "javascript:red"}},
	}, map[string]any{"title": hostile, "status": hostile, "language": hostile, "thumbnail": "javascript:alert(1)", "tags": map[string]any{"names": []string{hostile}, "colors": []string{hostile}}},
		map[string]any{"title": "\u200b\u3164\ufe0f"}, map[string]any{"title": "Take\n two\u202e", "tags": map[string]any{"names": []string{"first\u2028cut"}}}, map[string]any{"title": nil, "thumbnail": "https://elsewhere.example/a.png"}, map[string]any{"thumbnail": "https://ada:hunter2@elsewhere.example/"},
		map[string]any{"thumbnail": "//hidden.example/a.png"}, map[string]any{"thumbnail": "///hidden.example/a.png"}, map[string]any{"thumbnail": `/\hidden.example/a.png`}, map[string]any{"thumbnail": "data:text/html,<script>"})
	p := s.signIn(t, email).get("/console/projects")
	p.want(t, http.StatusOK, `<h2 dir="auto">Welcome</h2>`, `class="badge published">PUBLISHED`, "english", "onboarding", `fill="#2D7FF9"`, "<dd>120</dd>", "<dd>7</dd>",
		`src="/media/own.png"`, `href="/console/videos/new?text=Hello&#43;%26&#43;welcome.&amp;title=Welcome"`, ">Watch on videos.example<", `href="/console/avatars/new"`, "Untitled project", "&lt;script&gt;", "Take two", "first cut",
		`<a href="https://elsewhere.example/a.png" target="_blank" rel="noopener noreferrer">Thumbnail on elsewhere.example</a>`)
	p.wantNone(t, `auto"></h2>`, "<script>document", "javascript:", `src="http`, "hunter2", "hidden.example", "data:text", "\u202e", "\u2028")
}

// made is a rendering with small pictures.
var made = studio.Rendering{
	Video: "video.mp4", Thumbnail: "thumbnail.jpg", Captions: "speech.vtt", Language: "en-GB",
	Previews: studio.Previews{Still: "still.png", StillPlay: "play.png", Animation: "moving.gif", AnimationPlay: "play.gif"},
}

// render completes the rendering of a subject. Each of its files contains its own name.
func (s *site) render(t testing.TB, subject studio.Subject) {
	t.Helper()
	for _, name := range made.FileNames() {
		check(t, s.media.Write(t.Context(), studio.ResultKey(subject.ID, name), strings.NewReader(name)))
	}
	try(s.studio.Rendered(t.Context(), subject.ID, made, nil))(t)
}

// A record is a card that leads its owner to its page, and the other members of the workspace to the video.
func TestProjects_showRecordsToMembers(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	lipsync := s.create(t, studio.Lipsync, hostile)
	s.render(t, lipsync)
	ada, bob, eve := s.signIn(t, email), s.join(t, "bob@example.com", studio.NoRole), s.join(t, "eve@example.com", studio.NoRole)
	check(t, s.studio.AddMember(t.Context(), s.workspace, "bob@example.com"))
	files := "/console/projects/" + lipsync.ID
	p := ada.get("/console/projects")
	p.want(t, http.StatusOK, `<a class="cover" href="/console/lipsyncs/`+lipsync.ID+`"`, `src="`+files+`/picture?play.png"`, `<img class="moving" src="`+files+`/moving"`,
		`<span class="badge published">published</span>`, "lip-sync", "en-GB", "&lt;script&gt;")
	p.wantNone(t, "<script>document")
	bob.get("/console/projects").want(t, http.StatusOK, `<a class="cover" href="`+files+`/video"`)
	for file, want := range map[string]string{"picture": "play.png", "moving": "moving.gif", "video": "video.mp4", "captions": "speech.vtt"} {
		p := bob.get(files + "/" + file)
		p.want(t, http.StatusOK, want)
		if got := p.header.Get("Cache-Control"); got != "private, max-age=3600" {
			t.Errorf("%s: Cache-Control is %q", file, got)
		}
		eve.get(files+"/"+file).want(t, http.StatusNotFound)
	}
	bob.get(files+"/files").want(t, http.StatusNotFound)
	bob.get("/console/lipsyncs/"+lipsync.ID).want(t, http.StatusNotFound)
	for _, v := range []*visitor{bob, eve} {
		v.post(files, url.Values{"title": {"Taken"}, "shared": {"true"}}).want(t, http.StatusNotFound)
	}
	ada.get("/console/lipsyncs/"+lipsync.ID).wantNone(t, "Taken", "studio.example")
}

func TestProjects_areFiltered(t *testing.T) {
	t.Parallel()
	s, v := signedIn(t)
	s.addProjects(t, map[string]any{"title": "Two", "status": "published", "tags": map[string]any{"names": []string{hostile}}}, map[string]any{"title": "Three", "status": "draft"})
	s.create(t, studio.Avatar, "Four")
	for filter, want := range map[string]string{"": "Two Three Four", "title= tW": "Two", "status=draft": "Three", "tag=" + hostile: "Two", "status=processing": "Four", "title=Five" + hostile: "Nothing found."} {
		name, value, _ := strings.Cut(filter, "=")
		p := v.get("/console/projects?" + url.Values{"workspace": {s.workspace}, name: {value}}.Encode())
		p.want(t, http.StatusOK, strings.Fields(want)[0])
		for _, title := range []string{"Two", "Three", "Four"} {
			if shown := strings.Contains(p.text, `auto">`+title) || strings.Contains(p.text, ">"+title+"</a></h2>"); shown != strings.Contains(want, title) {
				t.Errorf("%s: %s is shown: %t", filter, title, shown)
			}
		}
		p.wantNone(t, "<script>document")
	}
	v.get("/console/projects?cursor=made-up").want(t, http.StatusBadRequest, "does not match")
	bob := s.join(t, "bob@example.com", studio.NoRole)
	bob.get("/console/projects").want(t, http.StatusOK, "You are not a member of any workspace.")
	bob.get("/console/projects?workspace="+s.workspace).want(t, http.StatusForbidden, "not a member")
}

// The owner changes the title, the tags and the thumbnail, and shares the video.
func TestProjects_areChangedByTheOwner(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	lipsync := s.create(t, studio.Lipsync, "Greeting")
	v, path, form := s.signIn(t, email), "/console/lipsyncs/"+lipsync.ID, "/console/projects/"+lipsync.ID
	v.get(path).want(t, http.StatusOK, "Share by link", `value="Greeting"`)
	v.post(form, url.Values{"shared": {"true"}}).want(t, http.StatusOK, "It is shared.", "as soon as it is ready")
	s.render(t, lipsync)
	shared := func() string {
		project := try(s.studio.FindProject(t.Context(), s.user.ID, lipsync.ID))(t)
		return s.studio.ShareURL(&project)
	}
	link := shared()
	v.get(path).want(t, http.StatusOK, `value="`+link+`"`, "Stop sharing", `<track kind="captions" label="Captions" src="`+path+`/captions" srclang="en-GB" default>`)
	v.get("/console/projects").want(t, http.StatusOK, `<span class="badge">shared</span>`)

	red := &studio.Tags{Names: []string{"people"}, Colors: []string{"#FF0000"}}
	try(s.studio.UpdateProject(t.Context(), s.user.ID, lipsync.ID, studio.ProjectChange{Tags: red}))(t)
	_, address, err := s.studio.Upload(t.Context(), s.user.ID, "image/png", strings.NewReader("custom"))
	check(t, err)
	v.post(form, url.Values{"title": {"Hello " + hostile}, "tags": {" new, people,,new , "}, "thumbnail": {address}}).want(t, http.StatusOK, "The changes are saved.", `<h1 dir="auto">Hello &lt;script&gt;`)
	v.get("/console/projects").want(t, http.StatusOK, `fill="#2D7FF9"/></svg><a href="/console/projects?tag=new&amp;`, `fill="#FF0000"/></svg><a href="/console/projects?tag=people&amp;`,
		"picture?custom_thumbnail-")
	v.get(form+"/picture").want(t, http.StatusOK, "custom")
	v.post(form, url.Values{"title": {"Hello"}, "tags": {"new, people"}, "remove_thumbnail": {"true"}}).want(t, http.StatusOK)
	v.get(form+"/picture").want(t, http.StatusOK, "play.png")
	if got := shared(); got != link {
		t.Errorf("another change changes the link %s to %s", link, got)
	}
	v.post(form, url.Values{"shared": {"false"}}).want(t, http.StatusOK, "It is no longer shared.", "Share by link")
	if got := shared(); got != "" {
		t.Errorf("the link is still %s", got)
	}
	v.post(form, url.Values{"title": {"\x00"}}).want(t, http.StatusBadRequest)
	v.post(form, url.Values{"tags": {strings.Repeat("a", 65)}}).want(t, http.StatusBadRequest, "<p>Each of the tags must have 64 or fewer characters.</p>") // as the API
}
