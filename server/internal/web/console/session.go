package console

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const loginPath = Path + "/login"

// session is a logged-in user.
type session struct {
	studio.User

	id    string // of the session
	token string // the value of the cookie
}

// cookieName returns the name of the session cookie of the service at a URL. Browsers send a cookie to all ports of a
// host, so services on other ports need other names.
func cookieName(publicURL string) string {
	sum := sha256.Sum256([]byte(publicURL))
	return "studio-" + hex.EncodeToString(sum[:4])
}

// cookie returns the session cookie without a value. Over https its name has the __Host- prefix, so that
// neither other hosts nor pages that were loaded over http can set it.
func (c *Console) cookie() *http.Cookie {
	cookie := &http.Cookie{ //nolint:gosec // browsers do not send Secure cookies over http
		Name: c.cookieName, Path: Path, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: c.cfg.Secure,
	}
	if cookie.Secure {
		cookie.Name, cookie.Path = "__Host-"+cookie.Name, "/"
	}
	return cookie
}

// session returns the session of a request, or [studio.ErrUnauthorized] if it has none.
func (c *Console) session(r *http.Request) (session, error) {
	cookie, err := r.Cookie(c.cookie().Name)
	if err != nil {
		return session{}, studio.ErrUnauthorized
	}
	s := session{token: cookie.Value}
	s.User, s.id, err = c.cfg.Studio.Session(r.Context(), s.token)
	return s, err
}

// requireSession serves a page to logged-in users and asks others to log in. POST requests also count towards
// maxForms.
func (c *Console) requireSession(page page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := c.session(r)
		if err == nil {
			err = c.serve(page, w, r, s)
		}
		if errors.Is(err, studio.ErrUnauthorized) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/live"):
				endStream(w, r) // a redirect would make the browser reconnect forever
			case r.Method != http.MethodPost:
				_ = redirect(w, r, loginPath+"?"+url.Values{"next": {r.URL.RequestURI()}}.Encode(), nil)
			default:
				c.anyone(c.askLogin)(w, r)
			}
			return
		}
		if err != nil {
			c.fail(w, withSession(r, s), err)
		}
	})
}

// anyone serves a page that needs no session.
func (c *Console) anyone(page func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := page(w, r); err != nil {
			c.fail(w, r, err)
		}
	}
}

// serve serves a page, unless the user sends too many forms at once. A form is that of the user after it has arrived,
// which may take long: by then, the session may have ended, or the user may not be an operator any more.
func (c *Console) serve(page page, w http.ResponseWriter, r *http.Request, s session) error {
	if r.Method == http.MethodPost && r.URL.Path != UploadsPath {
		release, err := c.forms.Acquire(r.Context(), s.ID)
		if err != nil {
			return &server.Error{Status: http.StatusTooManyRequests, Detail: "Too many forms are sent at once.", RetryAfter: time.Second, Err: err}
		}
		defer release()
		if err = parseForm(r); err == nil {
			s, err = c.session(r)
		}
		if err != nil {
			return err
		}
	}
	return page(w, withSession(r, s), s)
}

// askLogin responds to a form that was sent without a session. What was typed is in the request, which the browser
// repeats if the page is reloaded. So the login opens another tab, with the page that the form was on.
func (c *Console) askLogin(w http.ResponseWriter, r *http.Request) error {
	form := loginForm{Next: homePath, Target: "_blank", Problem: "Your session has ended. Sign in, which opens a new tab, and reload this page to send the form after all."}
	if from, err := url.Parse(r.Referer()); err == nil {
		form.Next = localPath(from.RequestURI())
	}
	return c.render(w, r, http.StatusUnauthorized, "login", view{Title: "Sign in", Data: form})
}

func (c *Console) showLogin(w http.ResponseWriter, r *http.Request) error {
	next := localPath(r.URL.Query().Get("next"))
	s, err := c.session(r)
	if err == nil {
		return redirect(w, r, next, nil)
	}
	v := view{Title: "Sign in", Data: loginForm{Next: next}}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" { // a link from elsewhere comes without the cookie, and a refresh with it
		w.Header().Set("Refresh", "0; url="+next)
	}
	if s.token != "" && errors.Is(err, studio.ErrUnauthorized) {
		v.Notice = "Your session has ended. Sign in to continue."
	}
	return c.render(w, r, http.StatusOK, "login", v)
}

// loginForm is the content of the login page. After a failed login, it shows the submitted email again.
type loginForm struct{ Email, Next, Problem, Target string }

func (c *Console) login(w http.ResponseWriter, r *http.Request) error {
	form := loginForm{Email: r.PostFormValue("email"), Next: localPath(r.PostFormValue("next"))}
	pair, err := c.cfg.Studio.Login(r.Context(), server.ClientAddr(r.Context()), form.Email, r.PostFormValue("password"))
	if err != nil {
		problem := c.report(w, r, err)
		form.Problem = problem.Detail
		if errors.Is(err, studio.ErrUnauthorized) {
			form.Problem = "The email or the password is wrong."
		}
		return c.render(w, r, problem.Status, "login", view{Title: "Sign in", Data: form})
	}
	c.startSession(w, r, pair.Refresh)
	// The login page redirects a browser that has kept the cookie.
	return redirect(w, r, loginPath+"?"+url.Values{"next": {form.Next}, "done": {"no-cookie"}}.Encode(), nil)
}

// startSession sets the cookie of a session with a refresh token. The session that the cookie was of ends.
func (c *Console) startSession(w http.ResponseWriter, r *http.Request, token string) {
	if other, err := r.Cookie(c.cookie().Name); err == nil {
		if err := c.cfg.Studio.EndSession(r.Context(), other.Value); err != nil { // the new session is valid nevertheless
			c.cfg.Logger.WarnContext(r.Context(), "a session goes on after another one replaced it", "err", err)
		}
	}
	cookie := c.cookie() //nolint:gosec // its attributes depend on Config.Secure
	cookie.Value, cookie.MaxAge = token, int(studio.RefreshTokenLifetime.Seconds())
	http.SetCookie(w, cookie)
}

func (c *Console) logout(w http.ResponseWriter, r *http.Request) error {
	if sent, err := r.Cookie(c.cookie().Name); err == nil {
		if err := c.cfg.Studio.EndSession(r.Context(), sent.Value); err != nil {
			return err
		}
	}
	c.forgetSession(w)
	return redirect(w, r, loginPath, nil)
}

// forgetSession deletes the cookie of a session that has ended.
func (c *Console) forgetSession(w http.ResponseWriter) {
	cookie := c.cookie() //nolint:gosec // its attributes depend on Config.Secure
	cookie.MaxAge = -1
	http.SetCookie(w, cookie)
}

// localPath returns text without a notice if it is a path of the console, and otherwise homePath. It prevents redirects
// to other origins.
func localPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.IsAbs() || u.Host != "" || strings.ContainsAny(text, "\\\r\n") {
		return homePath
	}
	clean := path.Clean(u.Path) // ///evil.example/../console/ is on another host
	if !strings.HasPrefix(clean, Path+"/") {
		return homePath
	}
	query := u.Query()
	query.Del("done")
	return (&url.URL{Path: clean, RawQuery: query.Encode()}).String()
}
