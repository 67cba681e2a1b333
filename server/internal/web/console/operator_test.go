package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/internal/web/console"
)

// operatorPaths returns the paths that only operators can read.
func operatorPaths() []string {
	return []string{"/console/users", "/console/users/log", "/console/workspaces", "/console/endpoints", "/console/service"}
}

// An operator sees all users and the waiting work, but no data that belongs to a user.
func TestOperator_seesUsersAndWaitingWork(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		s := newSite(t, db, func(cfg *console.Config) {
			cfg.Daemon = console.Daemon{Version: "v1.2.3", Started: time.Date(2026, 1, 12, 9, 30, 0, 0, time.UTC), Workers: 256, RenderWorkers: 3}
			cfg.Backup = func() studio.BackupStatus {
				return studio.BackupStatus{Every: time.Hour, Last: time.Date(2026, 1, 12, 8, 0, 0, 0, time.UTC), Size: 2_500_000, Failed: true}
			}
		})
		s.create(t, studio.Lipsync, "Nobody else's")
		s.addEvent(t, "https://paused.example/path?key=secret", studio.Attempt{Status: 500, Failure: "status"}, store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonSchedule})
		check(t, db.SaveBreaker(t.Context(), store.Breaker{Origin: "https://paused.example", Until: time.Now().Add(time.Hour)}))
		studiotest.AddUser(t, s.studio, "olga@example.com")
		check(t, s.studio.ChangeRole(t.Context(), studio.User{}, "Olga@example.com", studio.Operator))
		v := s.signIn(t, "olga@example.com")
		users := v.get("/console/users")
		users.want(t, http.StatusOK, email, s.user.ID, "olga@example.com", `<span class="badge">operator</span>`, ">1 in progress<")
		v.get("/console/users?email=ADA@example.com").want(t, http.StatusOK, s.user.ID)
		v.get("/console/users?email=nobody@example.com").want(t, http.StatusOK, "No user found.")
		service := v.get("/console/service")
		service.want(t, http.StatusOK, "<td>1</td><td>", "https://paused.example<", "(1 in total)", "v1.2.3", "12 Jan 2026, 09:30:00 UTC", "up to 256 notifications", "up to 3 at once",
			"12 Jan 2026, 08:00:00 UTC", "2.5 MB, compressed", "<dd>60 min</dd>", "The backups fail.")
		for _, warning := range []string{"No daemon delivers", "files only"} {
			if shown := strings.Contains(service.text, warning); shown != db.Shared() {
				t.Errorf("%q is shown: %v", warning, shown)
			}
		}
		secrets := try(s.studio.WebhookSecrets(t.Context(), s.user.ID))(t)
		never := append(secrets, "Nobody else", "key=", "/path", "hash of")
		users.wantNone(t, never...)
		service.wantNone(t, never...)
		// The role gives no access to the subjects of others.
		page := try(s.studio.List(t.Context(), studio.SubjectFilter{UserID: s.user.ID, Kind: studio.Lipsync}, "", 1))(t)
		v.get("/console/lipsyncs/"+page.Subjects[0].ID).want(t, http.StatusNotFound)
	})
}

// An operator finds the endpoints that have trouble and those of a user, without the queries of their URLs. He pauses
// them, or all deliveries, and stops the sharing of a video.
func TestOperator_pausesEndpointsOfUsers(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	v := s.join(t, "olga@example.com", studio.Operator)
	v.get("/console/endpoints").want(t, http.StatusOK, "No webhook URL fails")
	s.addEvent(t, "https://good.example/?key=secret", studio.Attempt{Status: 200}, store.Outcome{State: studio.EventDelivered})
	s.addEvent(t, "https://off.example/", studio.Attempt{Status: 410, Failure: "status"}, store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonGone, DisableURL: true})
	s.addEvent(t, "https://dead.example/", studio.Attempt{Failure: "connect"}, store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonSchedule})
	troubled := v.get("/console/endpoints")
	troubled.want(t, http.StatusOK, email, ">failing<", "No connection could be opened.", "because it responded with 410", "1 exhausted")
	troubled.wantNone(t, "good.example")
	if strings.Index(troubled.text, "https://dead.example/") > strings.Index(troubled.text, "https://off.example/") {
		t.Error("what fails is not first")
	}
	v.get("/console/endpoints?email=nobody@example.com").want(t, http.StatusOK, "There is no such user, or")
	p := v.get("/console/endpoints?email=ADA@example.com")
	p.want(t, http.StatusOK, "https://good.example/?…", "https://dead.example/", ">in use<")
	p.wantNone(t, "key=")
	urls := try(s.studio.Endpoints(t.Context(), s.user.ID, "", 3))(t)
	set := func(email, state string) page {
		return v.post("/console/endpoints/change", url.Values{"email": {email}, "endpoint": {urls.Endpoints[1].ID}, "state": {state}})
	}
	set(email, "paused").want(t, http.StatusOK, "The endpoint is paused.", ">paused<")
	v.get("/console/endpoints").want(t, http.StatusOK, "https://good.example/?…")
	set(email, "enabled").want(t, http.StatusOK, "The endpoint is enabled.")
	set(email, "gone").want(t, http.StatusNotFound)
	set("olga@example.com", "paused").want(t, http.StatusNotFound)
	for _, act := range []struct{ deliveries, shown string }{{"pause", "paused all notifications since"}, {"resume", ">Pause all notifications<"}} {
		v.post("/console/service/deliveries", url.Values{"deliveries": {act.deliveries}}).want(t, http.StatusOK, act.shown, "The changes are saved.")
	}

	video := s.create(t, studio.Lipsync, "Hi")
	s.render(t, video)
	project := try(s.studio.UpdateProject(t.Context(), s.user.ID, video.ID, studio.ProjectChange{Shared: new(true)}))(t)
	unshare := func() page {
		return v.post("/console/users/unshare", url.Values{"link": {s.studio.ShareURL(project.Subject)}})
	}
	unshare().want(t, http.StatusOK, "It is no longer shared.")
	unshare().want(t, http.StatusUnprocessableEntity, "No such video is shared.")
	log := v.get("/console/users/log")
	log.want(t, http.StatusOK, "paused the endpoint "+urls.Endpoints[1].ID, "enabled the endpoint "+urls.Endpoints[1].ID,
		"paused all deliveries", "resumed all deliveries", "stopped the sharing of a video", ">"+video.ID+"<")
	log.wantNone(t, "good.example", ">olga@example.com</td></tr>")
}

// For other users, the pages for operators do not exist, with any method, and nothing links to them. Removing the
// role takes effect at once.
func TestOperator_hidesPagesFromOtherUsers(t *testing.T) {
	t.Parallel()
	s, v := signedIn(t)
	wantHidden := func() {
		t.Helper()
		notFound := v.get("/console/none")
		for _, path := range operatorPaths() {
			for _, path := range []string{path + "?cursor=a&email=a", path + "/", path + "/" + s.user.ID, "/console//" + path[9:], strings.ToUpper(path[:10]) + path[10:]} {
				for _, method := range []string{"GET", "HEAD", "POST", "DELETE"} {
					p := v.send(method, path, "", "")
					if p.status != http.StatusNotFound && p.status != http.StatusMethodNotAllowed || strings.Contains(p.text, s.user.ID) || strings.Contains(p.text, "circuit breaker") {
						t.Errorf("%s %s: %d: %s", method, path, p.status, p.text)
					}
				}
			}
			p := v.get(path)
			if p.status != notFound.status || strings.Contains(v.get("/console/projects").text, path) || v.send("POST", path, "", "").status != v.send("POST", "/console/none", "", "").status {
				t.Errorf("%s differs from a page that does not exist", path)
			}
			if p := s.newVisitor(t).send("HEAD", path, "", ""); p.path != "/console/login" {
				t.Errorf("a visitor without a session gets %s", p.path)
			}
		}
	}
	wantHidden()
	check(t, s.studio.ChangeRole(t.Context(), studio.User{}, email, studio.Operator))
	for _, path := range operatorPaths() {
		v.get(path).want(t, http.StatusOK, `<a href="/console/users"`, `<a href="/console/service"`)
	}
	check(t, s.store.CreateUser(t.Context(), studio.User{ID: "other", CreatedAt: s.user.CreatedAt, Role: studio.Operator}))
	check(t, s.studio.ChangeRole(t.Context(), studio.User{}, email, studio.NoRole))
	wantHidden()
}
