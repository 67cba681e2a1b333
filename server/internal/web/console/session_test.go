package console_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/web/console"
)

func TestSession_startsAtLoginAndEndsAtLogout(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	v := s.newVisitor(t)
	first := v.get("/console/avatars?status=failed")
	first.want(t, http.StatusOK, "<h1>Sign in</h1>", `value="/console/avatars?status=failed"`)

	wrong := v.post("/console/login", url.Values{"email": {email}, "password": {"guess"}, "next": {"/console/avatars"}})
	wrong.want(t, http.StatusUnauthorized, "The email or the password is wrong.", `value="ada@example.com"`, `value="/console/avatars"`)
	wrong.wantNone(t, "guess")
	in := v.post("/console/login", url.Values{"email": {email}, "password": {password}, "next": {"/console/avatars?status=failed"}})
	in.want(t, http.StatusOK, "<h1>Avatars</h1>", email)
	if again := v.get("/console/login"); again.path != "/console/avatars" {
		t.Errorf("the login page of a logged-in user is at %s", again.path)
	}
	old := v.http.Jar.Cookies(try(url.Parse(s.URL + "/console"))(t))
	v.post("/console/logout", nil).want(t, http.StatusOK, "<h1>Sign in</h1>")
	out := v.get("/console/avatars")
	out.want(t, http.StatusOK, "<h1>Sign in</h1>")
	out.wantNone(t, "Your session has ended.", "cookie")
	forgetful := s.newVisitor(t)
	forgetful.http.Jar = nil
	forgetful.post("/console/login", url.Values{"email": {email}, "password": {password}, "next": {"/console/events"}}).want(t, http.StatusOK, "Your browser has not kept the cookie", `value="/console/events"`)
	for from, want := range map[string]string{"cross-site": "0; url=/console/events?state=none", "same-origin": ""} {
		if got := v.send(http.MethodGet, "/console/events?state=none", "", "", "Sec-Fetch-Site", from).header.Get("Refresh"); got != want {
			t.Errorf("a %s link to a page is followed by %q, want %q", from, got, want)
		}
	}
	v.send(http.MethodGet, "/console/login?done=left", "", "", "Sec-Fetch-Site", "cross-site").wantNone(t, "deleted")
	v.get("/console/login?next=/console/account?done=password").want(t, http.StatusOK, `value="/console/account"`)
	v.http.Jar.SetCookies(try(url.Parse(s.URL+"/console"))(t), old) // an attacker has a copy
	v.get("/console/avatars").want(t, http.StatusOK, "<h1>Sign in</h1>", "Your session has ended.")
	live := v.get("/console/avatars/live")
	live.want(t, http.StatusOK, "event: done")
	live.wantNone(t, "event: state")
}

// A client that leaves is no failure of the service.
func TestSession_loginOfAClientThatLeaves(t *testing.T) {
	t.Parallel()
	var log harness.Buffer
	s := newSite(t, newSQLite(t), func(cfg *console.Config) { cfg.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	left, leave := context.WithCancel(t.Context())
	leave()
	request := httptest.NewRequestWithContext(left, http.MethodPost, "/console/login", strings.NewReader("email=ada@example.com&pass"))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	s.Config.Handler.ServeHTTP(answer, request)
	if answer.Code != http.StatusBadRequest || strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("status %d, the log is\n%s", answer.Code, &log)
	}
}

// slow is a body that arrives after something else.
type slow func(p []byte) (int, error)

func (s slow) Read(p []byte) (int, error) { return s(p) }

// A form that arrives slowly has the rights that its user has at its end.
func TestSession_formArrivesAfterTheEndOfARight(t *testing.T) {
	t.Parallel()
	s, ctx := newSite(t, newSQLite(t)), t.Context()
	check(t, s.studio.ChangeRole(ctx, studio.User{}, email, studio.Operator))
	for want, end := range map[int]func(who string) error{
		http.StatusNotFound:     func(who string) error { return s.studio.ChangeRole(ctx, studio.User{}, who, studio.NoRole) },
		http.StatusUnauthorized: func(who string) error { return s.studio.EndSessions(ctx, studio.User{}, who) },
	} {
		who := fmt.Sprint(want, "@example.com")
		v := s.join(t, who, studio.Operator)
		answer := v.serve(http.MethodPost, "/console/users/change", formType, slow(func(p []byte) (int, error) {
			check(t, end(who))
			return copy(p, url.Values{"email": {who}, "act": {"operator"}}.Encode()), io.EOF
		}))
		if answer.Code != want {
			t.Errorf("the status of a form is %d, want %d", answer.Code, want)
		}
	}
}

const formType = "application/x-www-form-urlencoded"

// serve serves a request without a connection, and so without a buffer.
func (v *visitor) serve(method, path, contentType string, body io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(v.t.Context(), method, path, body)
	r.Header.Set("Content-Type", contentType)
	for _, cookie := range v.http.Jar.Cookies(try(url.Parse(v.site.URL + "/console"))(v.t)) {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	v.site.Config.Handler.ServeHTTP(w, r)
	return w
}

// If a session has ended, a form leads to the login, and the login back to the page of the form.
func TestSession_endedLeadsBackToTheForm(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	for referer, want := range map[string]string{
		s.URL + "/console/events?state=exhausted": "/console/events?state=exhausted", "https://evil.example/console/events": "/console/events", "https://evil.example/": "/console/avatars", "": "/console/avatars",
	} {
		s.newVisitor(t).send(http.MethodPost, "/console/events/replay", "application/x-www-form-urlencoded", "select=filter", "Referer", referer).
			want(t, http.StatusUnauthorized, "Your session has ended.", "reload this page", ` target="_blank"`, `name="next" value="`+want+`"`)
	}
	if p := s.signIn(t, email).get("/console/account/keys"); p.path != "/console/account" {
		t.Errorf("the login after a form on the response to another leads to %s", p.path)
	}
}

// The cookie of a service on another port has another name, because browsers send cookies to all ports of a host.
func TestSession_cookieIsRestrictedToOrigin(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	for _, secure := range []bool{false, true} {
		for _, port := range []string{"", ":8443"} {
			s := newSite(t, newSQLite(t), func(cfg *console.Config) { cfg.Secure = secure; cfg.Studio.PublicURL += port })
			v := s.newVisitor(t)
			v.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			cookie := v.post("/console/login", url.Values{"email": {email}, "password": {password}}).header.Get("Set-Cookie")
			want := map[bool]string{
				false: `^studio-[0-9a-f]{8}=\S+; Path=/console; Max-Age=\d+; HttpOnly; SameSite=Strict$`,
				true:  `^__Host-studio-[0-9a-f]{8}=\S+; Path=/; Max-Age=\d+; HttpOnly; Secure; SameSite=Strict$`,
			}[secure]
			name, _, _ := strings.Cut(cookie, "=")
			if !regexp.MustCompile(want).MatchString(cookie) || names[name] {
				t.Errorf("the cookie is %q, want %s", cookie, want)
			}
			names[name] = true
		}
	}
}

// A form from another origin is rejected, even with a valid session cookie. Behind a proxy that changes the Host, forms
// come from the origin of the public URL.
func TestSession_rejectsCrossOriginForms(t *testing.T) {
	t.Parallel()
	s, v := signedIn(t)
	public := s.studio.PublicURL
	for _, path := range []string{"/console/login", "/console/avatars/new", "/console/uploads", "/console/logout"} {
		for header, want := range map[[2]string]bool{
			{"Sec-Fetch-Site", "cross-site"}: false, {"Sec-Fetch-Site", "same-site"}: false, {"Origin", "https://evil.example"}: false, {"Origin", "null"}: false,
			{"Origin", "http" + strings.TrimPrefix(public, "https")}: false, {"Origin", public + ":8443"}: false, {"Origin", public}: true, {"Origin", s.URL}: true,
		} {
			p := v.send(http.MethodPost, path, "application/x-www-form-urlencoded", "title=Eve", header[:]...)
			if accepted := p.status != http.StatusForbidden || !strings.Contains(p.text, "another origin"); accepted != want {
				t.Errorf("%s with %s: status %d, want accepted %t", path, header, p.status, want)
			}
		}
	}
}

// A login replaces a session cookie that an attacker has set (session fixation), and ends the session.
func TestSession_replacesPlantedCookie(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	console, eve, v := try(url.Parse(s.URL+"/console"))(t), s.join(t, "eve@example.com", studio.NoRole), s.newVisitor(t)
	planted := eve.http.Jar.Cookies(console)
	planted[0].Path = console.Path
	v.http.Jar.SetCookies(console, planted)
	v.post("/console/login", url.Values{"email": {email}, "password": {password}}).want(t, http.StatusOK, email)
	if now := v.http.Jar.Cookies(console); len(now) != 1 || now[0].Value == planted[0].Value {
		t.Errorf("the cookies are %v", now)
	}
	eve.get("/console/projects").want(t, http.StatusOK, "Your session has ended.")
}

// The login redirects to pages of the console only.
func TestSession_redirectsWithinConsoleOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	v := s.newVisitor(t)
	v.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, next := range []string{"https://evil.example/console/", "//evil.example/console/", `/\evil.example`, "///evil.example/../console/", "/.//evil.example/../console/..", "/console/..//evil.example", "/console/%2e%2e//evil.example", "javascript:alert(1)", "/console/../users", ""} {
		p := v.post("/console/login", url.Values{"email": {email}, "password": {password}, "next": {next}})
		if got := p.header.Get("Location"); p.status != http.StatusSeeOther || !strings.HasPrefix(got, "/console/") || strings.Contains(got, "evil") {
			t.Errorf("%q redirects to %q", next, got)
		}
	}
}

// Request bodies are read up to a limit, which is lower without a session and zero for other methods than POST.
func TestSession_limitsBodySize(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	parts := "--b\r\nContent-Disposition: form-data; name=\"email\"\r\n\r\nada@example.com\r\n--b\r\nContent-Disposition: form-data; name=\"next\"; filename=\"a\"\r\n\r\n"
	for _, v := range []*visitor{s.newVisitor(t), s.signIn(t, email)} {
		for _, method := range []string{"GET", "POST", "PUT"} {
			for path, limit := range map[string]int{"/console/login": 8 << 10, "/console/avatars/new": 256 << 10, "/console/none": 256 << 10} {
				read := 0
				v.serve(method, path, "multipart/form-data; boundary=b", slow(func(p []byte) (int, error) { // without an end
					copy(p, parts[min(read, len(parts)):])
					read += len(p)
					return len(p), nil
				}))
				if method != "POST" {
					limit = 0
				}
				if read > limit+64<<10 { // 64 KiB for buffers
					t.Errorf("%s %s: %d bytes are read", method, path, read)
				}
			}
		}
	}
}

// The number of concurrent forms of a user is limited.
func TestSession_limitsConcurrentForms(t *testing.T) {
	t.Parallel()
	_, v := signedIn(t)
	read, sent := make(chan struct{}), make(chan struct{})
	body := slow(func([]byte) (int, error) { read <- struct{}{}; <-sent; return 0, io.EOF })
	var responses sync.WaitGroup
	for range 16 {
		responses.Go(func() {
			if w := v.serve(http.MethodPost, "/console/events/replay", formType, body); w.Code != http.StatusOK {
				t.Errorf("the status is %d", w.Code)
			}
		})
		<-read
	}
	v.post("/console/events/replay", nil).want(t, http.StatusTooManyRequests, "Too many forms are sent at once.")
	v.get("/console/events").want(t, http.StatusOK)
	close(sent)
	responses.Wait()
}
