package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest/s3test"
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
	client := &http.Client{Timeout: harness.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	request := try(http.NewRequestWithContext(t.Context(), s.method, url+s.path, strings.NewReader(s.body)))(t)
	request.Header.Set("Content-Type", "application/json")
	for _, line := range s.headers {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	response = try(client.Do(request))(t)
	if response.StatusCode >= http.StatusBadRequest {
		return response, readAll(t, response)
	}
	check(t, response.Body.Close())
	return response, ""
}

// sharedVideo returns the ID of a lip-sync with a video, and its link.
func (d *testDaemon) sharedVideo(t *testing.T) (id, link string) {
	t.Helper()
	lipsync := try(d.client.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{}))(t)
	check(t, d.media.Write(t.Context(), studio.ResultKey(lipsync.InferenceID, "out.mp4"), strings.NewReader("a video")))
	try(d.studio.Rendered(t.Context(), lipsync.InferenceID, studio.Rendering{Video: "out.mp4"}, nil))(t)
	project := try(d.client.UpdateProject(t.Context(), gen.UpdateProjectRequest{ProjectID: lipsync.InferenceID, Shared: new(true)}))(t)
	return lipsync.InferenceID, *project.SmartURL
}

// everything returns a request for each operation of the document, for the pages of the console and of a shared video,
// and for a file. The user becomes an operator.
func (d *testDaemon) everything(t *testing.T) (all []served) {
	t.Helper()
	check(t, d.studio.ChangeRole(t.Context(), studio.User{}, testEmail, studio.Operator))
	id, link := d.sharedVideo(t)
	file, _ := d.media.URL(studio.ResultKey(id, "out.mp4"))
	pair := login(t, d.url(), testEmail)
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
	page := []string{"Cookie: " + consoleCookie(t, d.url(), pair.RefreshToken)}
	for _, path := range []string{
		"", "/projects", "/projects/" + id + "/video", "/avatars/new", "/avatars/live", "/videos", "/lipsyncs/" + id, "/webhooks", "/events", "/account",
		"/users", "/users/log", "/workspaces", "/endpoints", "/service", "/link?key=x",
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
	for _, address := range []string{link, link + "/video.mp4", file, d.url() + "/docs"} {
		all = append(all, served{method: http.MethodGet, path: strings.TrimPrefix(address, d.url()), free: !strings.HasPrefix(address, link)})
	}
	return all
}

// Whatever the reason for which PostgreSQL refuses a daemon, every operation and page is answered 503 with Retry-After,
// or needs no database. Streams stay open.
func TestDaemon_refusedByPostgresAnswers503(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it starts a cluster of its own")
	cluster := studiotest.NewCluster(t, "fsync=off")
	app := strings.Replace(cluster.DSN, "/postgres?", "/app?", 1)
	execute := func(dsn, statements string) {
		t.Helper()
		db := studiotest.OpenSQL(t, dsn)
		for statement := range strings.SplitSeq(statements, "; ") {
			try(db.ExecContext(t.Context(), statement))(t)
		}
		check(t, db.Close())
	}
	const end = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'ada'`
	execute(cluster.DSN, `CREATE ROLE ada LOGIN; CREATE DATABASE app OWNER ada`)

	d := startDaemon(t, func(cfg *daemonConfig) {
		cfg.Database, cfg.Media = strings.Replace(app, "studio@", "ada@", 1), "file:"+t.TempDir()
		cfg.Console, cfg.Render.Workers, cfg.Admin.Addr = true, noWorkers, "127.0.0.1:0"
	})
	all, events := d.everything(t), login(t, d.url(), testEmail).AccessToken
	for _, way := range []struct {
		name, refuse, repair string
		partly               bool // what writes no subjects is answered
	}{
		{name: "28000", refuse: `ALTER ROLE ada NOLOGIN`, repair: `ALTER ROLE ada LOGIN`},
		{name: "42501 of all tables", refuse: `REVOKE ALL ON ALL TABLES IN SCHEMA public FROM ada`, repair: `GRANT ALL ON ALL TABLES IN SCHEMA public TO ada`},
		{name: "42501 of new subjects", refuse: `REVOKE INSERT ON subjects FROM ada`, repair: `GRANT INSERT ON subjects TO ada`, partly: true},
	} {
		stream := openEvents(t, d.url(), events, "")
		execute(app, way.refuse+"; "+end)
		refused := 0
		for _, s := range all {
			if way.partly && (strings.HasSuffix(s.path, "/logout") || s.path == "/users/refresh") {
				continue // it would end the session of all others
			}
			response, content := s.send(t, d.url())
			switch {
			case s.free && !way.partly && response.StatusCode != http.StatusOK:
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
		d.awaitReadiness(t, map[bool]string{false: "database unavailable", true: "database not writable"}[way.partly])
		execute(app, way.repair)
		var created *gen.Avatar
		harness.Eventually(t, "a creation", func() bool {
			var err error
			created, err = d.client.CreateAvatar(t.Context(), avatarRequest("after", d.url()))
			return err == nil
		})
		d.awaitReadiness(t, "ready")
		for data := ""; !strings.Contains(data, created.AvatarID); {
			_, data = stream.next(t)
		}
		check(t, stream.body.Close())
	}
	execute(cluster.DSN, `CREATE DATABASE latin TEMPLATE template0 ENCODING LATIN1`)
	fails(t, exitUsage, "UTF8", "user", "list", "--db="+strings.Replace(app, "/app?", "/latin?", 1))
}

// While files cannot be written or read, whatever needs them is answered 503 with Retry-After.
func TestDaemon_mediaOutageAnswers503(t *testing.T) {
	t.Parallel()
	bucket := s3test.New(t)
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.Media, cfg.Console, cfg.Render.Workers = bucket.URL, true, noWorkers })
	video, link := d.sharedVideo(t)
	pair := login(t, d.url(), testEmail)
	picture, page := "Content-Type: image/png", "Cookie: "+consoleCookie(t, d.url(), pair.RefreshToken)
	requests := []served{
		{method: http.MethodPost, path: uploadPath, body: "a picture", headers: []string{bearer(pair.AccessToken), picture}},
		{method: http.MethodPost, path: "/console/uploads", body: "a picture", headers: []string{page, picture}},
		{method: http.MethodGet, path: strings.TrimPrefix(link, d.url()) + "/video.mp4"},
		{method: http.MethodGet, path: "/console/lipsyncs/" + video + "/video", headers: []string{page}},
	}
	for _, status := range []int32{http.StatusForbidden, http.StatusServiceUnavailable, http.StatusInsufficientStorage, -1, 0} { // -1 is no response
		bucket.Status.Store(status)
		for _, s := range requests {
			response, content := s.send(t, d.url())
			busy := response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "" && strings.Contains(content, `"service_busy"`)
			if works := response.StatusCode < http.StatusBadRequest; busy != (status != 0) || works != (status == 0) {
				t.Errorf("bucket with %d: %s %s: %s %s", status, s.method, s.path, response.Status, content)
			}
		}
	}
}

// An upload that its client cuts is answered 400.
func TestDaemon_refusesAnUploadThatIsCut(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	token := login(t, d.url(), testEmail).AccessToken
	for _, part := range []string{"Content-Length: 1000\r\n\r\na picture", "Transfer-Encoding: chunked\r\n\r\n9\r\na picture\r\n"} {
		connection := try(new(net.Dialer).DialContext(t.Context(), "tcp", d.listener.Addr().String()))(t)
		try(fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: studio\r\n%s\r\nContent-Type: image/png\r\n%s", uploadPath, bearer(token), part))(t)
		check(t, connection.(*net.TCPConn).CloseWrite())
		response := try(http.ReadResponse(bufio.NewReader(connection), nil))(t)
		if content := readAll(t, response); response.StatusCode != http.StatusBadRequest {
			t.Errorf("a cut upload with %q: %s %s", part, response.Status, content)
		}
		check(t, connection.Close())
	}
}
