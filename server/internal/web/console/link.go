package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const linkPath = Path + "/link"

// LinkURL returns the URL of a link with a secret, for a service at a base URL. The log has no queries, so the secret
// is one.
func LinkURL(base, secret string) string {
	return base + linkPath + "?" + url.Values{"key": {secret}}.Encode()
}

// linkForm is the form in which the holder of a link chooses a password.
type linkForm struct {
	studio.Link

	Secret, Problem string
	MinLength       int
	SignedIn        string // the email of another user who is signed in
}

// Setup reports whether the holder becomes the first operator.
func (f linkForm) Setup() bool { return f.Purpose == studio.SetupLink }

// Reset reports whether the holder has an account.
func (f linkForm) Reset() bool { return f.Purpose == studio.ResetLink }

func (c *Console) showLink(w http.ResponseWriter, r *http.Request) {
	form := linkForm{Secret: r.URL.Query().Get("key")}
	var err error
	if form.Link, err = c.cfg.Studio.OpenLink(r.Context(), form.Secret); err != nil {
		c.failLink(w, r, err)
		return
	}
	c.renderLink(w, r, http.StatusOK, form)
}

func (c *Console) renderLink(w http.ResponseWriter, r *http.Request, status int, form linkForm) {
	form.MinLength = studio.MinPasswordLength
	if s, err := c.session(r); err == nil && s.Email != form.Email {
		form.SignedIn = s.Email
	}
	// The referrer has no query. With no-referrer, the form would have the origin null, which is rejected over plain
	// http.
	w.Header().Set("Referrer-Policy", "strict-origin")
	w.Header().Set("Cache-Control", "no-store")
	c.render(w, r, status, "link", view{Title: "Welcome", Data: form})
}

func (c *Console) failLink(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, studio.ErrLink) {
		detail := "This link was used or has expired. If you have chosen a password with it, sign in. Otherwise ask an operator for another one."
		if found, err := c.cfg.Store.HasOperator(r.Context()); err == nil && !found {
			detail = "This link has expired. studiod prints another one when it starts."
		}
		err = &server.Error{Status: http.StatusNotFound, Detail: detail}
	}
	c.fail(w, r, err)
}

func (c *Console) useLink(w http.ResponseWriter, r *http.Request) {
	form := linkForm{Secret: r.PostFormValue("key")}
	var err error
	if form.Link, err = c.cfg.Studio.OpenLink(r.Context(), form.Secret); err != nil {
		c.failLink(w, r, err)
		return
	}
	token, err := c.cfg.Studio.UseLink(r.Context(), server.ClientAddr(r.Context()), form.Secret, r.PostFormValue("email"), r.PostFormValue("password"))
	switch {
	case err == nil:
		if other, err := r.Cookie(c.cookie(r).Name); err == nil {
			if err := c.cfg.Studio.EndSession(r.Context(), other.Value); err != nil { // the link is used nevertheless
				c.cfg.Logger.WarnContext(r.Context(), "the session of another user goes on after the use of a link", "err", err)
			}
		}
		c.startSession(w, r, token)
		next := homePath
		if form.Setup() {
			next += "/new"
		}
		http.Redirect(w, r, next+"?done=welcome", http.StatusSeeOther)
		return
	case errors.Is(err, studio.ErrPasswordLength):
		form.Problem = passwordLengthProblem()
	case errors.Is(err, studio.ErrEmail):
		form.Problem = "Enter an email address."
	case errors.Is(err, studio.ErrExists) && form.Setup(): // the user is no operator
		form.Problem = "There is a user with this email already. Enter another one, or run: studiod user role EMAIL operator"
	case errors.Is(err, studio.ErrExists):
		form.Problem = "There is a user with this email already. Sign in instead."
	default:
		c.failLink(w, r, err)
		return
	}
	if form.Setup() {
		form.Email = r.PostFormValue("email")
	}
	c.renderLink(w, r, http.StatusUnprocessableEntity, form)
}
