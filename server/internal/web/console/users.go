package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// usersView is the page that lists users.
type usersView struct {
	pager

	Email      string // the filter; "" for all users
	Users      []store.Account
	Workspaces []store.Membership

	Link        string // of the last invitation or reset
	LinkFor     string
	LinkPurpose studio.LinkPurpose
	LinkMailed  bool       // whether a mail with it is on its way
	Problem     string     // with the last invitation
	Invited     url.Values // the form, after a problem
	Unshared    string     // the link in the form, if there is no such video
}

func (c *Console) users(w http.ResponseWriter, r *http.Request, _ session) error {
	return c.showUsers(w, r, http.StatusOK, usersView{})
}

func (c *Console) showUsers(w http.ResponseWriter, r *http.Request, status int, v usersView) (err error) {
	v.Email = r.URL.Query().Get("email")
	filter := store.UserFilter{Email: c.cfg.Studio.NormalizeEmail(v.Email)}
	v.Users, v.pager, err = readPage(r, usersPath, func(ctx context.Context, below string, limit int) ([]store.Account, error) {
		return c.cfg.Store.Users(ctx, filter, below, limit)
	}, func(user store.Account) string { return user.ID })
	if err != nil {
		return err
	}
	if v.Workspaces, err = c.cfg.Store.AllWorkspaces(r.Context(), "", pageSize); err != nil {
		return err
	}
	return c.render(w, r, status, "users", view{Title: "Users", Section: usersPath, Data: v})
}

// showUserLink shows a new link once, and sends it if there is a mail server.
func (c *Console) showUserLink(w http.ResponseWriter, r *http.Request, email, secret string, purpose studio.LinkPurpose) error {
	link := LinkURL(c.cfg.Studio.PublicURL, secret)
	mailed := c.cfg.MailLink != nil && c.cfg.MailLink(c.cfg.Studio.NormalizeEmail(email), link, purpose)
	return c.showUsers(w, r, http.StatusOK, usersView{Link: link, LinkFor: email, LinkPurpose: purpose, LinkMailed: mailed})
}

func (c *Console) invite(w http.ResponseWriter, r *http.Request, s session) error {
	email := r.PostFormValue("email")
	secret, err := c.cfg.Studio.Invite(r.Context(), s.User, email, r.PostFormValue("workspace"), r.PostFormValue("role") == string(studio.Operator))
	v := usersView{Invited: r.PostForm}
	switch {
	case err == nil:
		return c.showUserLink(w, r, email, secret, studio.InviteLink)
	case errors.Is(err, studio.ErrEmail):
		v.Problem = "Enter an email address."
	case errors.Is(err, studio.ErrExists):
		v.Problem = "There is a user with this email already."
	default:
		return err
	}
	return c.showUsers(w, r, http.StatusUnprocessableEntity, v)
}

// changeUser does what the button of a user is for.
func (c *Console) changeUser(w http.ResponseWriter, r *http.Request, s session) (err error) {
	email, act := r.PostFormValue("email"), r.PostFormValue("act")
	switch act {
	case "reset":
		secret, err := c.cfg.Studio.NewResetLink(r.Context(), s.User, email)
		if err != nil {
			return err
		}
		return c.showUserLink(w, r, email, secret, studio.ResetLink)
	case "end-sessions":
		err = c.cfg.Studio.EndSessions(r.Context(), s.User, email)
	case "disable", "enable":
		err = c.cfg.Studio.SetUserEnabled(r.Context(), s.User, email, act == "enable")
	case "operator":
		err = c.cfg.Studio.ChangeRole(r.Context(), s.User, email, studio.Operator)
	case "user":
		err = c.cfg.Studio.ChangeRole(r.Context(), s.User, email, studio.NoRole)
	case "delete":
		err = c.cfg.Studio.RemoveUser(r.Context(), s.User, email)
	default:
		err = studio.ErrNotFound
	}
	if err != nil {
		return err
	}
	query := url.Values{"done": {"user-" + act}, "email": {email}}
	if act == "delete" {
		query.Del("email")
	}
	return redirect(w, r, usersPath+"?"+query.Encode(), nil)
}

// unshare ends the sharing of a video of any user.
func (c *Console) unshare(w http.ResponseWriter, r *http.Request, s session) error {
	link := r.PostFormValue("link")
	if _, err := c.cfg.Studio.Unshare(r.Context(), s.User, link); errors.Is(err, studio.ErrNotFound) {
		return c.showUsers(w, r, http.StatusUnprocessableEntity, usersView{Unshared: link})
	} else if err != nil {
		return err
	}
	return redirect(w, r, usersPath+"?done=unshared", nil)
}

func (c *Console) confirmUserDelete(w http.ResponseWriter, r *http.Request, _ session) error {
	user, err := c.cfg.Studio.UserByEmail(r.Context(), r.URL.Query().Get("email"))
	if err != nil {
		return err
	}
	return c.render(w, r, http.StatusOK, "user", view{Title: "Delete " + user.Email, Section: usersPath, Data: user.Email})
}

// actsView is the page about what operators did.
type actsView struct {
	pager

	Acts []studio.Act
}

func (c *Console) acts(w http.ResponseWriter, r *http.Request, _ session) (err error) {
	var v actsView
	v.Acts, v.pager, err = readPage(r, actsPath, c.cfg.Studio.Acts, func(act studio.Act) string { return act.ID })
	if err != nil {
		return err
	}
	return c.render(w, r, http.StatusOK, "acts", view{Title: "Audit log", Section: usersPath, Data: v})
}

// workspacesView is the page about workspaces and the members of one.
type workspacesView struct {
	pager

	Workspaces []store.Membership
	Chosen     studio.Workspace // whose members are shown; the zero value for none
	Members    []store.Account
	More       bool // whether there are members that are not shown
	Problem    string
	Form       url.Values // after a problem
}

func (c *Console) workspaces(w http.ResponseWriter, r *http.Request, _ session) error {
	return c.showWorkspaces(w, r, http.StatusOK, "")
}

func (c *Console) showWorkspaces(w http.ResponseWriter, r *http.Request, status int, problem string) (err error) {
	v := workspacesView{Problem: problem, Form: r.PostForm}
	if id := r.FormValue("workspace"); id != "" {
		v.Chosen, err = c.cfg.Store.Workspace(r.Context(), id)
		if err != nil && (problem == "" || !errors.Is(err, studio.ErrNotFound)) {
			return err
		}
	}
	v.Workspaces, v.pager, err = readPage(r, workspacesPath, c.cfg.Store.AllWorkspaces, func(m store.Membership) string { return m.ID })
	if err != nil {
		return err
	}
	if v.Chosen.ID != "" {
		members, err := c.cfg.Store.Users(r.Context(), store.UserFilter{WorkspaceID: v.Chosen.ID}, "", pageSize+1)
		if err != nil {
			return err
		}
		v.Members, v.More = members[:min(len(members), pageSize)], len(members) > pageSize
	}
	return c.render(w, r, status, "workspaces", view{Title: "Workspaces", Section: usersPath, Data: v})
}

func (c *Console) changeWorkspace(w http.ResponseWriter, r *http.Request, s session) (err error) {
	workspace, email := r.PostFormValue("workspace"), r.PostFormValue("email")
	switch act := r.PostFormValue("act"); act {
	case "create":
		workspace, err = c.cfg.Studio.CreateWorkspace(r.Context(), s.User, r.PostFormValue("name"))
	case "add", "remove":
		err = c.cfg.Studio.ChangeMember(r.Context(), s.User, workspace, email, act == "add")
	default:
		return studio.ErrNotFound
	}
	switch {
	case errors.Is(err, studio.ErrWorkspaceName):
		return c.showWorkspaces(w, r, http.StatusUnprocessableEntity, "Enter a name of at most 100 characters.")
	case errors.Is(err, studio.ErrNotFound):
		return c.showWorkspaces(w, r, http.StatusUnprocessableEntity, "There is no such user or workspace.")
	case err != nil:
		return err
	}
	return redirect(w, r, workspacesPath+"?"+url.Values{"workspace": {workspace}, "done": {"saved"}}.Encode(), nil)
}

// pauseAll pauses or resumes all deliveries of the service.
func (c *Console) pauseAll(w http.ResponseWriter, r *http.Request, s session) (err error) {
	if r.PostFormValue("deliveries") == "pause" {
		_, err = c.cfg.Store.Pause(c.cfg.Studio.WithAct(r.Context(), s.User, "paused all deliveries", ""), c.cfg.Studio.Now())
	} else {
		err = c.cfg.Store.Resume(c.cfg.Studio.WithAct(r.Context(), s.User, "resumed all deliveries", ""))
	}
	if err != nil && !errors.Is(err, studio.ErrNotFound) { // they were not paused
		return err
	}
	return redirect(w, r, servicePath+"?done=saved", nil)
}
