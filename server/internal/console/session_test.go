package console_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/console"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
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

// A cookie that somebody else has set does not become the session of who signs in.
func TestSession_ignoresAPlantedCookie(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	studiotest.AddUser(t, s.studio, "eve@example.com")
	eve := s.signedIn(t, "eve@example.com").http.Jar.Cookies(mustParse(t, s.URL+"/console"))
	for _, planted := range []string{"planted", eve[0].Value} {
		v := s.visitor(t)
		v.http.Jar.SetCookies(mustParse(t, s.URL+"/console"), []*http.Cookie{{Name: "studio", Value: planted, Path: "/console"}})
		v.post("/console/login", url.Values{"email": {email}, "password": {password}}).want(t, http.StatusOK, email)
		if now := v.http.Jar.Cookies(mustParse(t, s.URL+"/console")); len(now) != 1 || now[0].Value == planted {
			t.Errorf("the cookies are %v", now)
		}
		other := s.visitor(t)
		other.http.Jar.SetCookies(mustParse(t, s.URL+"/console"), []*http.Cookie{{Name: "studio", Value: planted, Path: "/console"}})
		if p := other.get("/console/projects"); strings.Contains(p.text, email) {
			t.Error("the cookie that was planted is Ada's session")
		}
	}
}

// After signing in, one is on a page of the console.
func TestSession_leadsNowhereElse(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	for _, next := range []string{"https://evil.example/console/", "//evil.example/console/", `/\evil.example`, "///evil.example/../console/", "/.//evil.example/../console/..", "/console/..//evil.example", "/console/%2e%2e//evil.example", "javascript:alert(1)", "/users/login", "/console/../users", ""} {
		v := s.visitor(t)
		v.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		p := v.post("/console/login", url.Values{"email": {email}, "password": {password}, "next": {next}})
		if got := p.header.Get("Location"); p.status != http.StatusSeeOther || !strings.HasPrefix(got, "/console/") || strings.Contains(got, "evil") {
			t.Errorf("%q leads to %q", next, got)
		}
	}
}

// Nobody is read at length before it is known who it is, nor a request that has no body by right.
func TestSession_readsNoLongBodies(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	parts := "--b\r\nContent-Disposition: form-data; name=\"email\"\r\n\r\nada@example.com\r\n--b\r\nContent-Disposition: form-data; name=\"next\"; filename=\"a\"\r\n\r\n"
	for _, signedIn := range []bool{false, true} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE"} {
			for path, limit := range map[string]int{
				"/console/login": 16 << 10, "/console/logout": 256 << 10, "/console/projects": 256 << 10, "/console/avatars/new": 256 << 10, "/console/events/replay": 256 << 10, "/console/none": 256 << 10,
			} {
				body := &endless{start: parts}
				r := httptest.NewRequestWithContext(t.Context(), method, path, body)
				r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
				if signedIn {
					for _, cookie := range s.signedIn(t, email).http.Jar.Cookies(mustParse(t, s.URL+"/console")) {
						r.AddCookie(cookie)
					}
				}
				s.Config.Handler.ServeHTTP(httptest.NewRecorder(), r)
				if method != "POST" {
					limit = 0
				}
				if body.read > limit+64<<10 { // of buffers
					t.Errorf("%s %s: %d bytes are read", method, path, body.read)
				}
			}
		}
	}
}

// endless is a body that begins with a text and does not end.
type endless struct {
	start string
	read  int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.start)
	if e.start = e.start[n:]; n == 0 {
		n = len(p)
	}
	e.read += n
	return n, nil
}

// A user has so many forms under way, and no more.
func TestSession_takesFewFormsAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	v := s.signedIn(t, email)
	var sending []*io.PipeWriter
	var ends sync.WaitGroup
	defer ends.Wait()
	for range 16 {
		in, out := io.Pipe()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/console/events/replay", in)
		check(t, err)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		ends.Go(func() {
			answer, err := v.http.Do(request)
			if err != nil {
				t.Error(err)
				return
			}
			if _ = answer.Body.Close(); answer.StatusCode != http.StatusOK {
				t.Errorf("the answer is %s", answer.Status)
			}
		})
		sending = append(sending, out)
	}
	var p page
	for p.status != http.StatusTooManyRequests { // until all have come
		p = v.post("/console/events/replay", nil)
	}
	p.want(t, http.StatusTooManyRequests, "Too many forms are sent at once.")
	v.get("/console/events").want(t, http.StatusOK)
	for _, out := range sending {
		check(t, out.Close())
	}
}
