package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// served is a request that a daemon answers.
type served struct {
	method, path, body string
	headers            []string
	free               bool // it needs no database
}

// send sends the request. It returns the content of an error only, because some responses do not end.
func (s served) send(t *testing.T, url string) (response *http.Response, content string) {
	t.Helper()
	client := &http.Client{Timeout: waitTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	request, err := http.NewRequestWithContext(t.Context(), s.method, url+s.path, strings.NewReader(s.body))
	check(t, err)
	request.Header.Set("Content-Type", "application/json")
	for _, line := range s.headers {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	response, err = client.Do(request)
	check(t, err)
	if response.StatusCode >= http.StatusBadRequest {
		return response, readAll(t, response)
	}
	check(t, response.Body.Close())
	return response, ""
}

// everything returns a request for each operation of the document, for the pages of the console and of a shared video, and
// for a file. The user becomes an operator.
func (d *testDaemon) everything(t *testing.T) (all []served) {
	t.Helper()
	check(t, d.studio.SetRole(t.Context(), testEmail, studio.Operator))
	lipsync, err := d.client.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{})
	check(t, err)
	video := studio.ResultKey(lipsync.InferenceID, "out.mp4")
	check(t, d.media.Write(t.Context(), video, strings.NewReader("a video")))
	_, err = d.studio.Rendered(t.Context(), lipsync.InferenceID, studio.Rendering{Video: "out.mp4"}, nil)
	check(t, err)
	project, err := d.client.UpdateProject(t.Context(), gen.UpdateProjectRequest{ProjectID: lipsync.InferenceID, Shared: new(true)})
	check(t, err)
	file, _ := d.media.URL(video)
	pair, id := login(t, d.url(), testEmail), lipsync.InferenceID
	_, key, err := d.studio.AddAPIKey(t.Context(), studio.APIKey{UserID: d.user.ID, Name: "batch"})
	check(t, err)
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	_, text := get(t, d.url()+"/openapi.json")
	check(t, json.Unmarshal([]byte(text), &document))
	// An operation ignores members that it does not know.
	body := fmt.Sprintf(`{"email":%q,"password":%q,"refresh_token":%q,"avatar_id":%[4]q,"inference_id":%[4]q,"project_id":%[4]q,"endpoint_id":%[4]q,
		"granted":true,"shared":true,"state":"paused","webhook_url":%q,"event_type":"avatar_event","since":"2026-01-01T00:00:00Z"}`,
		testEmail, testPassword, pair.RefreshToken, id, d.url())
	for path, item := range document.Paths {
		for method := range item {
			r := served{method: strings.ToUpper(method), path: path, headers: []string{bearer(pair.AccessToken), "X-Workspace-Id: " + d.workspace}, free: path == "/v1/voices"}
			switch {
			case r.method == http.MethodGet:
				r.path += "?avatar_id=" + id + "&inference_id=" + id
			case path == uploadPath:
				r.body, r.headers = "a picture", append(r.headers, "Content-Type: image/png")
			case r.method == http.MethodPost:
				r.body = body
			default:
				continue // no method
			}
			all = append(all, r)
		}
	}
	all = append(all, served{method: http.MethodGet, path: "/v1/lipsync/list", headers: []string{bearer(key)}})
	page := []string{"Cookie: studio=" + pair.RefreshToken}
	for _, path := range []string{
		"", "/projects", "/projects/" + id + "/video", "/avatars", "/avatars/new", "/avatars/live", "/videos", "/videos/new", "/lipsyncs", "/lipsyncs/" + id,
		"/lipsyncs/" + id + "/live", "/lipsyncs/" + id + "/delete", "/lipsyncs/" + id + "/video", "/webhooks", "/events", "/events/live", "/events/x",
		"/account", "/users", "/users/delete?email=" + testEmail, "/acts", "/workspaces", "/endpoints", "/service", "/link?key=x",
	} {
		all = append(all, served{method: http.MethodGet, path: "/console" + path, headers: page})
	}
	page = append(page, "Content-Type: application/x-www-form-urlencoded")
	for path, form := range map[string]string{
		"/login": "email=" + testEmail + "&password=" + testPassword, "/link": "key=x&password=" + testPassword, "/logout": "", "/uploads": "x",
		"/avatars/new": "title=Ada", "/lipsyncs/" + id + "/delete": "", "/webhooks/rotate": "", "/webhooks/test": "kind=avatar&webhook_url=" + d.url(),
		"/account/password": "", "/account/keys": "name=x", "/users/invite": "email=b@example.com", "/workspaces/change": "", "/service/deliveries": "pause=true",
	} {
		all = append(all, served{method: http.MethodPost, path: "/console" + path, body: form, headers: page})
	}
	for _, address := range []string{*project.SmartURL, *project.SmartURL + "/video.mp4", file, d.url() + "/docs", d.url() + publicKeysPath} {
		all = append(all, served{method: http.MethodGet, path: strings.TrimPrefix(address, d.url()), free: !strings.HasPrefix(address, *project.SmartURL)})
	}
	return all
}

// Whatever the reason for which PostgreSQL refuses a daemon, every operation and page is answered 503 with Retry-After, or
// needs no database. Streams stay open.
func TestDaemon_refusedByPostgresAnswers503(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it starts a cluster of its own")
	cluster := studiotest.NewCluster(t, "fsync=off")
	access := filepath.Join(cluster.Directory, "data", "pg_hba.conf")
	trusted, err := os.ReadFile(access)
	check(t, err)
	setAccess := func(method string) {
		check(t, os.WriteFile(access, []byte("local all ada "+method+"\n"+string(trusted)), 0o600))
	}
	app := strings.Replace(cluster.DSN, "/postgres?", "/app?", 1)
	execute := func(dsn, statements string) {
		t.Helper()
		db := studiotest.OpenSQL(t, dsn)
		for _, statement := range strings.Split(statements, "; ") {
			_, err := db.ExecContext(t.Context(), statement)
			check(t, err)
		}
		check(t, db.Close())
	}
	const reload, end = `SELECT pg_reload_conf()`, `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'ada'`
	setAccess("scram-sha-256")
	execute(cluster.DSN, `CREATE ROLE ada LOGIN PASSWORD 'first'; CREATE DATABASE app OWNER ada; `+reload)

	d := startDaemon(t, func(cfg *daemonConfig) {
		cfg.Database, cfg.Media = strings.Replace(app, "studio@", "ada:first@", 1), "file:"+t.TempDir()
		cfg.Console, cfg.Docs, cfg.Render.Workers = true, true, noWorkers
	})
	all, events := d.everything(t), login(t, d.url(), testEmail).AccessToken
	for _, way := range []struct {
		name, dsn, refuse, repair string
		partly                    bool // what needs no subjects is answered
	}{
		{name: "55000", refuse: `ALTER DATABASE app ALLOW_CONNECTIONS false`, repair: `ALTER DATABASE app ALLOW_CONNECTIONS true`},
		{name: "28000 of a role", refuse: `ALTER ROLE ada NOLOGIN`, repair: `ALTER ROLE ada LOGIN`},
		{name: "28000 of pg_hba.conf", refuse: reload, repair: reload},
		{name: "28P01", refuse: `ALTER ROLE ada PASSWORD 'second'`, repair: `ALTER ROLE ada PASSWORD 'first'`},
		{
			name: "3D000", refuse: `ALTER DATABASE app ALLOW_CONNECTIONS false; ` + end + `; ALTER DATABASE app RENAME TO away; ALTER DATABASE away ALLOW_CONNECTIONS true`,
			repair: `ALTER DATABASE away RENAME TO app`,
		},
		{name: "53300", refuse: `ALTER ROLE ada CONNECTION LIMIT 0`, repair: `ALTER ROLE ada CONNECTION LIMIT -1`},
		{name: "42501 of the database", refuse: `REVOKE CONNECT ON DATABASE app FROM PUBLIC, ada`, repair: `GRANT CONNECT ON DATABASE app TO ada`},
		{name: "42501 of all tables", dsn: app, refuse: `REVOKE ALL ON ALL TABLES IN SCHEMA public FROM ada`, repair: `GRANT ALL ON ALL TABLES IN SCHEMA public TO ada`},
		{name: "42501 of subjects", dsn: app, refuse: `REVOKE ALL ON subjects FROM ada`, repair: `GRANT ALL ON subjects TO ada`, partly: true},
	} {
		stream := openEvents(t, d.url(), events, "")
		if strings.Contains(way.name, "pg_hba") {
			setAccess("reject")
		}
		execute(cmp.Or(way.dsn, cluster.DSN), way.refuse)
		execute(cluster.DSN, end)
		refused := 0
		for _, s := range all {
			response, content := s.send(t, d.url())
			switch {
			case s.free && response.StatusCode != http.StatusOK:
				t.Errorf("%s: %s %s needs no database, and gets %s", way.name, s.method, s.path, response.Status)
			case !s.free && (!way.partly || response.StatusCode >= http.StatusInternalServerError):
				refused++
				if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" || strings.Contains(content, "SQLSTATE") {
					t.Errorf("%s: %s %s: %s, Retry-After %q, %.300s", way.name, s.method, s.path, response.Status, response.Header.Get("Retry-After"), content)
				}
			}
		}
		if refused == 0 {
			t.Errorf("%s: everything is answered", way.name)
		}
		setAccess("scram-sha-256")
		execute(cmp.Or(way.dsn, cluster.DSN), way.repair+"; "+reload)
		var created *gen.Avatar
		harness.Eventually(t, "a creation", func() bool {
			created, err = d.client.CreateAvatar(t.Context(), avatarRequest("after", d.url()))
			return err == nil
		})
		for data := ""; !strings.Contains(data, created.AvatarID); {
			_, data = stream.next(t)
		}
		check(t, stream.body.Close())
	}
}
