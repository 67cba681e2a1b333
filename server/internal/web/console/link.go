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

func (c *Console) showLink(w http.ResponseWriter, r *http.Request) error {
	form, err := c.openLink(r, r.URL.Query().Get("key"))
	if err != nil {
		return err
	}
	return c.renderLink(w, r, http.StatusOK, form)
}

func (c *Console) openLink(r *http.Request, secret string) (form linkForm, err error) {
	form.Secret = secret
	form.Link, err = c.cfg.Studio.OpenLink(r.Context(), secret)
	return form, c.linkError(r, err)
}

func (c *Console) renderLink(w http.ResponseWriter, r *http.Request, status int, form linkForm) error {
	form.MinLength = studio.MinPasswordLength
	if s, err := c.session(r); err == nil && s.Email != form.Email {
		form.SignedIn = s.Email
	}
	// The referrer has no query. With no-referrer, the form would have the origin null, which is rejected over plain
	// http.
	w.Header().Set("Referrer-Policy", "strict-origin")
	return c.render(w, r, status, "link", view{Title: "Welcome", Data: form})
}

// linkError says what the holder of a link can do that is of no use.
func (c *Console) linkError(r *http.Request, err error) error {
	if !errors.Is(err, studio.ErrLink) {
		return err
	}
	detail := "This link was used or has expired. If you have chosen a password with it, sign in. Otherwise ask an operator for another one."
	if found, err := c.cfg.Store.HasOperator(r.Context()); err == nil && !found {
		detail = "This link has expired. studiod prints another one when it starts."
	}
	return &server.Error{Status: http.StatusNotFound, Detail: detail}
}

func (c *Console) useLink(w http.ResponseWriter, r *http.Request) error {
	form, err := c.openLink(r, r.PostFormValue("key"))
	if err != nil {
		return err
	}
	token, err := c.cfg.Studio.UseLink(r.Context(), server.ClientAddr(r.Context()), form.Secret, r.PostFormValue("email"), r.PostFormValue("password"))
	switch {
	case err == nil:
		c.startSession(w, r, token)
		next := homePath
		if form.Setup() {
			next += "/new"
		}
		return redirect(w, r, next+"?done=welcome", nil)
	case errors.Is(err, studio.ErrPasswordLength):
		form.Problem = passwordProblem(err)
	case errors.Is(err, studio.ErrEmail):
		form.Problem = "Enter an email address."
	case errors.Is(err, studio.ErrExists) && form.Setup(): // the user is no operator
		form.Problem = "There is a user with this email already. Enter another one, or run: studiod user role EMAIL operator"
	case errors.Is(err, studio.ErrExists):
		form.Problem = "There is a user with this email already. Sign in instead."
	default:
		return c.linkError(r, err)
	}
	if form.Setup() {
		form.Email = r.PostFormValue("email")
	}
	return c.renderLink(w, r, http.StatusUnprocessableEntity, form)
}
