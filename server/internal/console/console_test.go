package console_test

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/console"
	"github.com/avatarstudio/avatarstudio/server/internal/media"
	"github.com/avatarstudio/avatarstudio/server/internal/ratelimit"
	"github.com/avatarstudio/avatarstudio/server/internal/rest"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

const (
	email    = "ada@example.com"
	password = "password"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// site is a service with a console, and a user in a workspace.
type site struct {
	*httptest.Server

	studio    *studio.Service
	store     *store.Store
	media     *media.Store
	console   *console.Console
	serve     func(address string)
	user      studio.User
	workspace string
}

// newSite serves a service as the daemon does.
func newSite(t testing.TB, db *store.Store, change ...func(*console.Config)) *site {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := &site{store: db}
	tokens, err := auth.NewTokens([]auth.SigningKey{{Seed: auth.NewSeed()}}, time.Now)
	must(err)
	s.media, err = media.Open(t.Context(), media.Config{Bucket: "file:" + t.TempDir(), PublicURL: "http://files.example", Key: []byte("key")})
	must(err)
	t.Cleanup(func() { _ = s.media.Close() })
	cfg := studiotest.Config(db, func() time.Time { return time.Now().UTC() })
	cfg.IssueAccessToken, cfg.Media = tokens.Issue, s.media
	s.studio = studio.New(cfg)
	settings := console.Config{
		Studio: s.studio, Store: db, ServeFile: s.media.ServeFile, MapError: rest.MapError, Poll: 20 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	for _, f := range change {
		f(&settings)
	}
	s.serve = func(address string) {
		s.console, err = console.New(settings)
		must(err)
		handler, err := server.New(rest.New(s.studio), server.Config{
			Authenticator: server.AuthenticatorFunc(tokens.Authenticate), MapError: rest.MapError, Wrap: s.console.Wrap,
		})
		must(err)
		s.Server = httptest.NewUnstartedServer(handler)
		if address != "" {
			must(s.Listener.Close())
			s.Listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", address)
			must(err)
		}
		s.Start()
	}
	s.serve("")
	t.Cleanup(s.end)
	s.user = studiotest.AddUser(t, s.studio, email)
	workspace, err := s.studio.AddWorkspace(t.Context(), "", "Team")
	must(err)
	s.workspace = workspace.ID
	must(s.studio.AddMember(t.Context(), s.workspace, email))
	return s
}

func (s *site) end() {
	s.console.Stop() // or Close waits for what is open
	s.CloseClientConnections()
	s.Close()
}

// restart ends the service and begins another at the same address.
func (s *site) restart(between func()) {
	address := s.Listener.Addr().String()
	s.end()
	between()
	s.serve(address)
}

// create makes a subject of a user's.
func (s *site) create(t testing.TB, kind studio.Kind, title string) studio.Subject {
	t.Helper()
	c := studio.Creation{UserID: s.user.ID, Title: &title, Request: []byte(`{}`)}
	var subject studio.Subject
	var err error
	switch kind {
	case studio.Avatar:
		subject, err = s.studio.CreateAvatar(t.Context(), c)
	case studio.Lipsync:
		subject, err = s.studio.CreateLipsync(t.Context(), c)
	default:
		t.Fatalf("a %s is made from an avatar", kind)
	}
	if err != nil {
		t.Fatal(err)
	}
	return subject
}

// published makes an avatar that is published.
func (s *site) published(t testing.TB, title string) studio.Subject {
	t.Helper()
	avatar := s.create(t, studio.Avatar, title)
	_, err := s.studio.SubmitConsent(t.Context(), s.user.ID, avatar.ID, true)
	if err == nil {
		avatar, err = s.studio.Rendered(t.Context(), avatar.ID, studio.Rendering{}, nil)
	}
	if err != nil || avatar.Status != studio.Published {
		t.Fatal(avatar.Status, err)
	}
	return avatar
}

func newSQLite(t testing.TB) *store.Store {
	t.Helper()
	return studiotest.Open(t, studiotest.NewSQLite(t))
}

// visitor is a browser without a script.
type visitor struct {
	t    testing.TB
	site *site
	http *http.Client
}

func (s *site) visitor(t testing.TB) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t, s, &http.Client{Jar: jar, Timeout: time.Minute}}
}

// signedIn is a visitor who has signed in.
func (s *site) signedIn(t testing.TB, email string) *visitor {
	t.Helper()
	v := s.visitor(t)
	if page := v.post("/console/login", url.Values{"email": {email}, "password": {password}}); page.path != "/console/projects" {
		t.Fatalf("signing in leads to %s: %s", page.path, page.text)
	}
	return v
}

// page is what a visitor sees.
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
	if err != nil {
		v.t.Fatal(err)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := v.http.Do(request)
	if err != nil {
		v.t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		v.t.Fatal(err)
	}
	return page{response.StatusCode, response.Request.URL.Path, response.Header, string(text)}
}

// want fails the test unless a page shows all parts.
func (p page) want(t testing.TB, status int, parts ...string) {
	t.Helper()
	if p.status != status {
		t.Errorf("%s: status %d, want %d", p.path, p.status, status)
	}
	for _, part := range parts {
		if !strings.Contains(p.text, part) {
			t.Errorf("%s does not show %q:\n%s", p.path, part, p.text)
		}
	}
}

// Every answer forbids what is not of this origin, and pages have nothing inline.
func TestConsole_allowsNothingOfOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	v := s.signedIn(t, email)
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

// Who changes too much is told when to come again, and may look. What is sent to the API is counted there.
func TestConsole_limitsChanges(t *testing.T) {
	t.Parallel()
	limiter := ratelimit.New(ratelimit.Config{Changes: 1})
	s := newSite(t, newSQLite(t), func(cfg *console.Config) { cfg.Admit = limiter.AdmitPage })
	v := s.signedIn(t, email)
	refused := page{}
	for range 1000 { // the bucket has one, unless a request takes a second
		if refused = v.post("/console/webhooks/rotate", nil); refused.status == http.StatusTooManyRequests {
			break
		}
	}
	refused.want(t, http.StatusTooManyRequests, "<h1>Too Many Requests</h1>", "Too many requests. Try again later.")
	for name, want := range map[string]string{"Retry-After": "1", "RateLimit": `"changes";r=0;t=1`} {
		if got := refused.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for range 3 {
		v.get("/console/webhooks").want(t, http.StatusOK)
		v.post("/console/avatars/new", url.Values{"title": {"Ada"}}).want(t, http.StatusOK, "It has been created")
		v.send(http.MethodPost, "/console/uploads", "video/mp4", "a video").want(t, http.StatusCreated)
	}
}

// No value of a parameter, an id or a field fails the service, whoever sends it.
func TestConsole_survivesHostileValues(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		s := newSite(t, db)
		check(t, s.studio.SetRole(t.Context(), email, studio.Operator))
		v := s.signedIn(t, email)
		for _, value := range []string{"\x00", "\xff\xfe", "a\x00b", "'; DROP TABLE users; --", "%", "..", "../../etc/passwd", strings.Repeat("9", 5000), "💥\u202e", "\r\nX-Evil: 1", hostile, "-1", "{}", "null"} {
			for _, path := range []string{"projects", "avatars", "videos", "lipsyncs", "avatars/new", "videos/new", "webhooks", "events", "users", "service", "login"} {
				for _, name := range []string{"cursor", "workspace", "status", "avatar_id", "state", "subject", "from", "to", "email", "done", "next"} {
					p := v.get("/console/" + path + "?" + url.Values{name: {value}}.Encode())
					if p.status >= http.StatusInternalServerError || strings.Contains(p.text, "<script>document") || p.header.Get("X-Evil") != "" {
						t.Errorf("%s with %s %q: %d\n%s", path, name, value, p.status, p.text)
					}
				}
			}
			for _, path := range []string{"avatars/", "videos/", "lipsyncs/", "events/", "assets/", ""} {
				for _, below := range []string{"", "/live", "/delete", "/consent", "/video", "/thumbnail"} {
					for _, method := range []string{http.MethodGet, http.MethodPost} {
						p := v.send(method, "/console/"+path+url.PathEscape(value)+below, "application/x-www-form-urlencoded", "granted=true")
						if p.status >= http.StatusInternalServerError || p.status < http.StatusBadRequest && p.path != "/console/projects" && p.path != "/console/"+path {
							t.Errorf("%s %s%q%s: %d at %s", method, path, value, below, p.status, p.path)
						}
					}
				}
			}
			for path, form := range map[string]url.Values{
				"avatars/new": {"title": {value}, "base_video_url": {value}, "webhook_url": {value}, "key": {value}},
				"videos/new":  {"title": {value}, "avatar_id": {value}, "text": {value}, "audio_url": {value}}, "lipsyncs/new": {"sync_mode": {value}, "description": {value}},
				"events/replay": {"id": {value}, "which": {value}, "sure": {"yes"}}, "webhooks/enable": {"subject": {value}}, "webhooks/test": {"webhook_url": {value}, "kind": {value}},
				"login": {"email": {value}, "password": {value}, "next": {value}},
			} {
				if p := v.post("/console/"+path, form); p.status >= http.StatusInternalServerError || strings.Contains(p.text, "<script>document") {
					t.Errorf("%s with %q: %d\n%s", path, value, p.status, p.text)
				}
			}
			if p := v.post("/console/events/replay", url.Values{"which": {"all"}, "subject": {value}, "state": {"pending"}, "from": {value}}); p.status >= http.StatusInternalServerError {
				t.Errorf("a replay with %q: %d", value, p.status)
			}
		}
	})
}
