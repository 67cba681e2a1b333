package console_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/api/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/api/rest"
	"github.com/avatarstudio/avatarstudio/server/internal/media"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/internal/web/console"
)

const (
	email    = "ada@example.com"
	password = "password"
)

var check = harness.Check

func try[T any](result T, err error) func(t testing.TB) T { return harness.Try(result, err) }

// site is a service with a console and one user, who is a member of a workspace.
type site struct {
	*httptest.Server

	studio    *studio.Service
	store     *store.Store
	media     *media.Store
	user      studio.User
	workspace string
}

// newSite starts a service in this process.
func newSite(t testing.TB, db *store.Store, change ...func(*console.Config)) *site {
	t.Helper()
	s := &site{store: db}
	tokens, err := auth.NewTokens([]auth.SigningKey{{Seed: auth.NewSeed()}}, time.Now)
	check(t, err)
	s.media, err = media.Open(t.Context(), media.Config{Bucket: "file:" + t.TempDir(), PublicURL: "http://files.example", Key: []byte("key")})
	check(t, err)
	t.Cleanup(func() { _ = s.media.Close() })
	cfg := studiotest.Config(db, func() time.Time { return time.Now().UTC() })
	cfg.IssueAccessToken, cfg.Media = tokens.Issue, s.media
	cfg.PublicURL = "https://studio.example"
	s.studio = studio.New(cfg)
	revocations := auth.Revocations{Read: db.Revocations}
	settings := console.Config{
		Studio: s.studio, Store: db, ServeFile: s.media.ServeFile, MapError: rest.MapError, PollInterval: 20 * time.Millisecond,
		Revoked: func(sessionID string) bool {
			_ = revocations.Load(t.Context(), time.Now())
			return revocations.Revokes(sessionID)
		},
		Admit: func(string, bool) *server.Error { return nil }, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	for _, f := range change {
		f(&settings)
	}
	handler, err := server.New(rest.New(s.studio), server.Config{
		Authenticator: tokens, MapError: rest.MapError, Wrap: console.New(settings).Wrap, Logger: settings.Logger,
	})
	check(t, err)
	s.Server = httptest.NewServer(handler)
	t.Cleanup(func() {
		_ = s.Config.Shutdown(context.Background()) // Close waits for open streams
		s.Close()
	})
	s.user = studiotest.AddUser(t, s.studio, email)
	workspace := try(s.studio.AddWorkspace(t.Context(), "", "Team"))(t)
	s.workspace = workspace.ID
	check(t, s.studio.AddMember(t.Context(), s.workspace, email))
	return s
}

// create creates an avatar or a lip-sync of the user.
func (s *site) create(t testing.TB, kind studio.Kind, title string) studio.Subject {
	t.Helper()
	create := s.studio.CreateLipsync
	if kind == studio.Avatar {
		create = s.studio.CreateAvatar
	}
	return try(create(t.Context(), studio.Creation{UserID: s.user.ID, Title: &title, Request: []byte(`{}`)}))(t)
}

// createPublished creates a published avatar.
func (s *site) createPublished(t testing.TB, title string) studio.Subject {
	t.Helper()
	avatar := s.create(t, studio.Avatar, title)
	try(s.studio.SubmitConsent(t.Context(), s.user.ID, avatar.ID, true))(t)
	avatar = try(s.studio.Rendered(t.Context(), avatar.ID, studio.Rendering{}, nil))(t)
	return avatar
}

func newSQLite(t testing.TB) *store.Store {
	t.Helper()
	return studiotest.Open(t, studiotest.NewSQLite(t))
}

// visitor is an HTTP client that keeps cookies, like a browser without JavaScript.
type visitor struct {
	t    testing.TB
	site *site
	http *http.Client
}

func (s *site) newVisitor(t testing.TB) *visitor {
	t.Helper()
	jar := try(cookiejar.New(nil))(t)
	return &visitor{t, s, &http.Client{Jar: jar, Timeout: harness.Timeout}}
}

// signIn returns a visitor with a session.
func (s *site) signIn(t testing.TB, email string) *visitor {
	t.Helper()
	v := s.newVisitor(t)
	if page := v.post("/console/login", url.Values{"email": {email}, "password": {password}}); page.path != "/console/avatars" {
		t.Fatalf("the login redirects to %s: %s", page.path, page.text)
	}
	return v
}

// signedIn starts a service, and signs its user in.
func signedIn(t *testing.T, change ...func(*console.Config)) (*site, *visitor) {
	t.Helper()
	s := newSite(t, newSQLite(t), change...)
	return s, s.signIn(t, email)
}

// join adds a user with a role, and signs the user in.
func (s *site) join(t *testing.T, email string, role studio.Role) *visitor {
	t.Helper()
	check(t, s.store.SetRole(t.Context(), studiotest.AddUser(t, s.studio, email).ID, role))
	return s.signIn(t, email)
}

// page is a response after redirects.
type page struct {
	status int
	path   string
	header http.Header
	text   string
}

func (v *visitor) get(path string) page { return v.send(http.MethodGet, path, "", "") }

func (v *visitor) post(path string, form url.Values) page {
	return v.send(http.MethodPost, path, "application/x-www-form-urlencoded", form.Encode())
}

func (v *visitor) send(method, path, contentType, body string, header ...string) page {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, v.site.URL+path, strings.NewReader(body))
	check(v.t, err)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response := try(v.http.Do(request))(v.t)
	text, err := io.ReadAll(response.Body)
	check(v.t, errors.Join(err, response.Body.Close()))
	return page{response.StatusCode, response.Request.URL.Path, response.Header, string(text)}
}

// want fails the test unless the page has the status, contains all parts, and focuses what it refuses, with the reason.
func (p page) want(t testing.TB, status int, parts ...string) {
	t.Helper()
	if p.status != status {
		t.Errorf("%s: status %d, want %d", p.path, p.status, status)
	}
	for _, part := range parts {
		if !strings.Contains(p.text, part) {
			t.Errorf("%s does not contain %q:\n%s", p.path, part, p.text)
		}
	}
	if refused := regexp.MustCompile(`aria-invalid|role="alert"`).MatchString(p.text); refused && !regexp.MustCompile(`(role="alert"|aria-describedby)[^>]* autofocus`).MatchString(p.text) {
		t.Errorf("%s does not show its errors:\n%s", p.path, p.text)
	}
}

// wantNone fails the test if the page contains one of the parts.
func (p page) wantNone(t testing.TB, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(p.text, part) {
			t.Errorf("%s contains %q:\n%s", p.path, part, p.text)
		}
	}
}

// The Content-Security-Policy allows neither other origins nor inline scripts and styles, and pages have none.
func TestConsole_allowsThisOriginOnly(t *testing.T) {
	t.Parallel()
	_, v := signedIn(t)
	for _, path := range []string{"/console/projects", "/console/avatars", "/console/none", "/console/assets/console.js", "/console/assets/htmx.min.js", "/console/assets/LICENSE-htmx.txt"} {
		p := v.get(path)
		policy := p.header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
			t.Errorf("%s: Content-Security-Policy is %q", path, policy)
		}
		if p.header.Get("X-Content-Type-Options") != "nosniff" || strings.Contains(p.text, " style=") && strings.Contains(p.header.Get("Content-Type"), "html") {
			t.Errorf("%s: %v", path, p.header)
		}
	}
	v.get("/console/none").want(t, http.StatusNotFound, "There is no such record.")
	v.get("/console/assets/htmx.min.js.gz").want(t, http.StatusNotFound)
}

// POST requests over the rate limit get 429 with Retry-After. GET requests, and requests that are forwarded to
// the API, are not affected.
func TestConsole_limitsRateOfChanges(t *testing.T) {
	t.Parallel()
	_, v := signedIn(t, func(cfg *console.Config) {
		cfg.Admit = func(_ string, change bool) *server.Error {
			if change {
				return &server.Error{Status: http.StatusTooManyRequests, Detail: "Try again later.", RetryAfter: time.Second}
			}
			return nil
		}
	})
	rejected := v.post("/console/webhooks/rotate", nil)
	rejected.want(t, http.StatusTooManyRequests, "<h1>Too Many Requests</h1>", "Try again later.")
	if got := rejected.header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After is %q", got)
	}
	v.get("/console/webhooks").want(t, http.StatusOK)
	v.post("/console/avatars/new", url.Values{"title": {"Ada"}}).want(t, http.StatusOK, "It has been created")
	v.send(http.MethodPost, "/console/uploads", "video/mp4", "a video").want(t, http.StatusCreated)
}

// No value of a parameter, a path or a form field causes a status of 500 or above, or injects a script or a header. The
// database is PostgreSQL, which cannot store all texts.
func TestConsole_handlesHostileValues(t *testing.T) {
	t.Parallel()
	s := newSite(t, studiotest.Open(t, studiotest.NewPostgres(t)))
	v := s.operator(t)
	survives := func(value string, p page) {
		t.Helper()
		if p.status >= http.StatusInternalServerError || strings.Contains(p.text, "<script>document") || p.header.Get("X-Evil") != "" {
			t.Errorf("%s with %q: %d\n%s", p.path, value, p.status, p.text)
		}
	}
	lists := []string{"cursor", "status", "title", "avatar_id"}
	for _, value := range []string{"\x00", "\xff\xfe", "'; DROP TABLE users; --💥\u202e", "../../etc/passwd", strings.Repeat("9", 5000), "\r\nX-Evil: 1" + hostile} {
		for path, names := range map[string][]string{
			"projects": {"cursor", "workspace", "status", "tag", "title", "done"}, "avatars": lists, "videos": lists, "lipsyncs": lists, "videos/new": {"avatar_id", "title"},
			"webhooks": {"cursor"}, "events": {"cursor", "state", "kind", "subject", "from", "to"}, "users": {"cursor", "email"}, "users/log": {"cursor"},
			"workspaces": {"cursor", "workspace"}, "endpoints": {"cursor", "email"}, "service": {"cursor"}, "login": {"next"}, "link": {"key"},
		} {
			for _, name := range names {
				survives(value, v.get("/console/"+path+"?"+url.Values{name: {value}}.Encode()))
			}
		}
		for _, path := range []string{"avatars/", "events/", "assets/", ""} {
			for _, below := range []string{"", "/live", "/delete", "/consent", "/video"} {
				for _, method := range []string{http.MethodGet, http.MethodPost} {
					p := v.send(method, "/console/"+path+url.PathEscape(value)+below, "application/x-www-form-urlencoded", "granted=true")
					if survives(value, p); p.status < http.StatusBadRequest && p.path != "/console/avatars" && p.path != "/console/"+path {
						t.Errorf("%s %s%q%s: %d at %s", method, path, value, below, p.status, p.path)
					}
				}
			}
		}
		for path, form := range map[string]url.Values{
			"avatars/new":    {"title": {value}, "base_video_url": {value}, "webhook_url": {value}, "key": {value}},
			"videos/new":     {"title": {value}, "avatar_id": {value}, "text": {value}, "audio_url": {value}},
			"lipsyncs/new":   {"sync_mode": {value}, "description": {value}, "audio_url": {value}},
			"events/replay":  {"select": {"filter"}, "subject": {value}, "from": {value}},
			"webhooks/set":   {"endpoint": {value}, "state": {"paused"}},
			"webhooks/test":  {"webhook_url": {value}, "kind": {value}},
			"account/revoke": {"key": {value}},
			"users/change":   {"email": {value}, "act": {"reset"}},
			"login":          {"email": {value}, "password": {value}, "next": {value}},
		} {
			survives(value, v.post("/console/"+path, form))
		}
	}
}
