package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const accountPath = Path + "/account"

// keyLifetimes are the lifetimes of new API keys that the form offers, in days; 0 is no limit.
//
//nolint:gochecknoglobals // a table
var keyLifetimes = []struct {
	Days  int
	Label string
}{{90, "90 days"}, {30, "30 days"}, {365, "One year"}, {0, "No limit"}}

// accountView is the page about the password, the sessions and the API keys of a user.
type accountView struct {
	Keys       []apiKey
	Workspaces []studio.Workspace
	Sessions   []studio.OpenSession
	Lifetimes  any

	Secret                      string     // a new API key
	KeyForm                     url.Values // after an error
	KeyProblem, PasswordProblem string
	NewPassword                 bool // whether PasswordProblem is about the new one
	LeaveProblem                string
}

// apiKey is an API key with the name of its workspace.
type apiKey struct {
	studio.APIKey

	Workspace string
}

// Ended reports whether the key has expired.
func (k apiKey) Ended() bool { return k.Expired(time.Now()) }

func (c *Console) account(w http.ResponseWriter, r *http.Request, s session) error {
	return c.showAccount(w, r, s, http.StatusOK, accountView{})
}

func (c *Console) showAccount(w http.ResponseWriter, r *http.Request, s session, status int, v accountView) error {
	keys, err := c.cfg.Studio.APIKeys(r.Context(), s.ID)
	if err != nil {
		return err
	}
	if v.Workspaces, err = c.cfg.Studio.Workspaces(r.Context(), s.ID); err != nil {
		return err
	}
	if v.Sessions, err = c.cfg.Studio.OpenSessions(r.Context(), s.ID, s.token); err != nil {
		return err
	}
	names := make(map[string]string)
	for _, workspace := range v.Workspaces {
		names[workspace.ID] = workspace.Name
	}
	for _, key := range keys {
		v.Keys = append(v.Keys, apiKey{key, names[key.WorkspaceID]})
	}
	v.Lifetimes = keyLifetimes
	return c.render(w, r, status, "account", view{Title: "Account", Section: accountPath, Data: v})
}

// addAPIKey adds a key and shows it once.
func (c *Console) addAPIKey(w http.ResponseWriter, r *http.Request, s session) error {
	key := studio.APIKey{
		UserID: s.ID, Name: r.PostFormValue("name"), ReadOnly: r.PostFormValue("scope") != "write", WorkspaceID: r.PostFormValue("workspace"),
	}
	for _, lifetime := range keyLifetimes {
		if lifetime.Days > 0 && fmt.Sprint(lifetime.Days) == r.PostFormValue("days") {
			key.ExpiresAt = time.Now().AddDate(0, 0, lifetime.Days)
		}
	}
	_, secret, err := c.cfg.Studio.AddAPIKey(r.Context(), key)
	v, status := accountView{KeyForm: r.PostForm}, http.StatusUnprocessableEntity
	switch {
	case errors.Is(err, studio.ErrAPIKeyName):
		v.KeyProblem = fmt.Sprintf("Enter a name of at most %d characters.", studio.MaxName)
	case errors.Is(err, studio.ErrTooManyAPIKeys):
		v.KeyProblem, status = fmt.Sprintf("You have %d keys. Revoke one first.", studio.MaxAPIKeys), http.StatusConflict
	case err != nil:
		return err
	default:
		v, status = accountView{Secret: secret}, http.StatusOK
	}
	return c.showAccount(w, r, s, status, v)
}

func (c *Console) revokeAPIKey(w http.ResponseWriter, r *http.Request, s session) error {
	err := c.cfg.Studio.RevokeAPIKey(r.Context(), s.ID, r.PostFormValue("key"))
	return redirect(w, r, accountPath+"?done=key-revoked", err)
}

// changePassword changes the password and continues in a new session.
func (c *Console) changePassword(w http.ResponseWriter, r *http.Request, s session) error {
	token, err := c.cfg.Studio.ChangePassword(r.Context(), server.ClientAddr(r.Context()), s.Email, r.PostFormValue("current"), r.PostFormValue("password"))
	if problem := passwordProblem(err); problem != "" {
		return c.showAccount(w, r, s, http.StatusUnprocessableEntity, accountView{PasswordProblem: problem, NewPassword: errors.Is(err, studio.ErrPasswordLength)})
	}
	if err != nil {
		return err
	}
	c.startSession(w, r, token)
	return redirect(w, r, accountPath+"?done=password", nil)
}

// passwordProblem returns what is wrong with a form with passwords, or "" if err does not say that.
func passwordProblem(err error) string {
	switch {
	case errors.Is(err, studio.ErrUnauthorized):
		return "The current password is wrong."
	case errors.Is(err, studio.ErrTooManyTries):
		return "Too many wrong passwords. Try again later."
	case errors.Is(err, studio.ErrPasswordLength):
		return fmt.Sprintf("The password must have %d to %d bytes.", studio.MinPasswordLength, studio.MaxPasswordLength)
	}
	return ""
}

// leave erases the user.
func (c *Console) leave(w http.ResponseWriter, r *http.Request, s session) error {
	err := c.cfg.Studio.Leave(r.Context(), server.ClientAddr(r.Context()), s.User, r.PostFormValue("password"))
	problem, status := passwordProblem(err), http.StatusUnprocessableEntity
	if errors.Is(err, studio.ErrLastOperator) {
		problem, status = studio.ErrLastOperator.Detail, http.StatusConflict
	}
	if problem != "" {
		return c.showAccount(w, r, s, status, accountView{LeaveProblem: problem})
	}
	if err != nil {
		return err
	}
	c.forgetSession(w)
	return redirect(w, r, loginPath+"?done=left", nil)
}

func (c *Console) endSession(w http.ResponseWriter, r *http.Request, s session) error {
	err := c.cfg.Studio.EndSessionOf(r.Context(), s.ID, r.PostFormValue("session"))
	return redirect(w, r, accountPath+"?done=session-ended", err)
}
