package console_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/console"
)

func TestSession_beginsAndEnds(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	v := s.visitor(t)
	first := v.get("/console/avatars?status=failed")
	first.want(t, http.StatusOK, "<h1>Sign in</h1>", `value="/console/avatars?status=failed"`)

	wrong := v.post("/console/login", url.Values{"email": {email}, "password": {"guess"}, "next": {"/console/avatars"}})
	wrong.want(t, http.StatusUnauthorized, "The email or the password is wrong.", `value="ada@example.com"`, `value="/console/avatars"`)
	if strings.Contains(wrong.text, "guess") {
		t.Error("the password is shown")
	}
	in := v.post("/console/login", url.Values{"email": {email}, "password": {password}, "next": {"/console/avatars?status=failed"}})
	in.want(t, http.StatusOK, "<h1>Avatars</h1>", email)
	if again := v.get("/console/login"); again.path != "/console/projects" {
		t.Errorf("the login is shown to who is signed in, at %s", again.path)
	}
	old := v.http.Jar.Cookies(mustParse(t, s.URL+"/console"))
	v.post("/console/logout", nil).want(t, http.StatusOK, "<h1>Sign in</h1>")
	v.get("/console/avatars").want(t, http.StatusOK, "<h1>Sign in</h1>")
	v.http.Jar.SetCookies(mustParse(t, s.URL+"/console"), old) // somebody has kept it
	v.get("/console/avatars").want(t, http.StatusOK, "<h1>Sign in</h1>")
}

func mustParse(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A new password and a revocation end sessions at once.
func TestSession_endsWithTheTokens(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	for name, end := range map[string]func() error{
		"revocation": func() error { return s.studio.RevokeTokens(t.Context(), email) },
		"password":   func() error { return s.studio.SetPassword(t.Context(), email, password) },
	} {
		v := s.signedIn(t, email)
		check(t, end())
		if p := v.get("/console/projects"); p.path != "/console/login" {
			t.Errorf("%s: the session goes on at %s", name, p.path)
		}
		if p := v.send(http.MethodGet, "/console/avatars/live", "", ""); !strings.Contains(p.text, "event: done") || strings.Contains(p.text, "event: state") {
			t.Errorf("%s: the stream goes on: %s", name, p.text)
		}
	}
}

// Failed logins are delayed as those of the API are.
func TestSession_delaysLogins(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	v := s.visitor(t)
	for range 10 {
		v.post("/console/login", url.Values{"email": {email}, "password": {"guess"}}).want(t, http.StatusUnauthorized)
	}
	late := v.post("/console/login", url.Values{"email": {email}, "password": {password}})
	late.want(t, http.StatusTooManyRequests, "Too many failed tries.")
}

func TestSession_cookieIsForThisOriginAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secure bool
		want   []string
	}{
		"http":  {false, []string{"studio=", "Path=/console", "HttpOnly", "SameSite=Strict"}},
		"https": {true, []string{"__Host-studio=", "Path=/;", "HttpOnly", "SameSite=Strict", "Secure"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, newSQLite(t), func(cfg *console.Config) { cfg.Secure = c.secure })
			form := url.Values{"email": {email}, "password": {password}}.Encode()
			r := httptest.NewRequest(http.MethodPost, "/console/login", strings.NewReader(form))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			s.Config.Handler.ServeHTTP(w, r)
			cookie := w.Header().Get("Set-Cookie")
			for _, part := range c.want {
				if !strings.Contains(cookie, part) {
					t.Errorf("the cookie %q has no %s", cookie, part)
				}
			}
			if strings.Contains(cookie, "Domain") || !c.secure && strings.Contains(cookie, "Secure") {
				t.Errorf("the cookie is %q", cookie)
			}
		})
	}
}

// A form of another origin does nothing, whatever cookies come with it.
func TestSession_refusesFormsOfOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	v := s.signedIn(t, email)
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}} {
		for _, path := range []string{"/console/login", "/console/logout", "/console/avatars/new", "/console/uploads"} {
			v.send(http.MethodPost, path, "application/x-www-form-urlencoded", "title=Eve", header...).want(t, http.StatusForbidden, "another origin")
		}
	}
	v.get("/console/avatars").want(t, http.StatusOK, "Make your first avatar")
}

// After signing in, one is on a page of the console.
func TestSession_leadsNowhereElse(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	for _, next := range []string{"https://evil.example/console/", "//evil.example/console/", `/\evil.example`, "javascript:alert(1)", "/users/login", "/console/../users", ""} {
		v := s.visitor(t)
		v.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		p := v.post("/console/login", url.Values{"email": {email}, "password": {password}, "next": {next}})
		if got := p.header.Get("Location"); p.status != http.StatusSeeOther || !strings.HasPrefix(got, "/console/") || strings.Contains(got, "evil") {
			t.Errorf("%q leads to %q", next, got)
		}
	}
}
