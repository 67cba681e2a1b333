package console_test

import (
	"errors"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/internal/web/console"
)

// operator returns a visitor who is an operator.
func (s *site) operator(t testing.TB) *visitor {
	t.Helper()
	check(t, s.studio.ChangeRole(t.Context(), studio.User{}, email, studio.Operator))
	return s.signIn(t, email)
}

// linkOf returns the path and the key of the link on a page.
func linkOf(t testing.TB, p page) (path, key string) {
	t.Helper()
	found := regexp.MustCompile(`id="link">https://studio\.example(/console/link\?key=([^<]+))<`).FindStringSubmatch(html.UnescapeString(p.text))
	if found == nil || p.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("the page shows no link: %s", p.text)
	}
	return found[1], found[2]
}

func TestLinks_workOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	v := s.operator(t)
	use := func(visitor *visitor, key, password string) page {
		return visitor.post("/console/link", url.Values{"key": {key}, "password": {password}, "email": {"eve@example.com"}})
	}
	earlier, _ := linkOf(t, v.post("/console/users/invite", url.Values{"email": {"bob@example.com"}}))
	path, key := linkOf(t, v.post("/console/users/invite", url.Values{"email": {" Bob@example.com"}, "workspace": {s.workspace}}))
	bob := s.newVisitor(t)
	bob.get(earlier).want(t, http.StatusNotFound, "This link was used or has expired.")
	bob.get(path).want(t, http.StatusOK, "bob@example.com")
	use(bob, key, "short").want(t, http.StatusUnprocessableEntity, "8 to 1024 bytes")
	use(bob, key, "a new password").want(t, http.StatusOK, "<h1>Avatars</h1>", "Welcome.")
	bob.get("/console/account").want(t, http.StatusOK, ">Team<")
	for _, again := range []*visitor{bob, s.newVisitor(t)} {
		use(again, key, "a new password").want(t, http.StatusNotFound, "This link was used or has expired.")
		again.get(path).want(t, http.StatusNotFound)
	}
	v.post("/console/users/invite", url.Values{"email": {"bob@example.com"}}).want(t, http.StatusUnprocessableEntity, "There is a user with this email already.")
	v.post("/console/users/invite", url.Values{"email": {"bob"}, "workspace": {s.workspace}, "role": {"operator"}}).want(t, http.StatusUnprocessableEntity, "Enter an email address.", `value="bob"`, s.workspace+`" selected`, `"operator" selected`)

	_, key = linkOf(t, v.post("/console/users/change", url.Values{"email": {"bob@example.com"}, "act": {"reset"}}))
	other := s.signIn(t, email)
	before := other.http.Jar.Cookies(try(url.Parse(s.URL + "/console"))(t))[0]
	other.get(console.LinkURL("", key)).want(t, http.StatusOK, "In this browser, "+email+" is signed in")
	use(other, key, "another password").want(t, http.StatusOK, "Welcome.", `title="bob@example.com"`)
	if _, _, err := s.studio.Session(t.Context(), before.Value); !errors.Is(err, studio.ErrUnauthorized) {
		t.Errorf("the session of another user in the browser: %v", err)
	}
	bob.get("/console/avatars").want(t, http.StatusOK, "<h1>Sign in</h1>", "Your session has ended.") // by the new password
	v.post("/console/users/invite", url.Values{"email": {"carl@example.com"}, "workspace": {"unknown"}}).want(t, http.StatusNotFound)
	v.post("/console/users/invite", url.Values{"email": {strings.Repeat("c", 255) + "@example.com"}}).want(t, http.StatusUnprocessableEntity, "Enter an email address.")
	linkOf(t, v.post("/console/users/invite", url.Values{"email": {"carl@example.com"}, "role": {"operator"}}))

	p := v.get("/console/users/log")
	p.want(t, http.StatusOK, "invited", "invited as an operator", "invite link used", "reset link used", "made a link to reset the password")
	if strings.Contains(p.text, key) {
		t.Error("the audit log shows a link")
	}
	if n := strings.Count(p.text, "carl@example.com"); n != 1 {
		t.Errorf("%d invitations are recorded, but one was refused", n)
	}
}

// A link ends after its time, with the password that it resets, and with the operator who made it. It shows nothing
// while its user is disabled.
func TestLinks_end(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		s, ctx := newSite(t, db), t.Context()
		var later time.Duration
		s.studio.Now = func() time.Time { return time.Now().UTC().Add(later) }
		bob := studiotest.AddUser(t, s.studio, "bob@example.com")
		check(t, s.studio.ChangeRole(ctx, studio.User{}, email, studio.Operator))
		ada := try(s.studio.UserByEmail(ctx, email))(t)
		lapse := func(d time.Duration) func(studio.User) error {
			return func(studio.User) error { later = d; return nil }
		}
		for name, c := range map[string]struct {
			reset         bool
			before, after func(operator studio.User) error // what does not end the link, and what does
		}{
			"invitation":        {false, lapse(7*24*time.Hour - time.Minute), lapse(7 * 24 * time.Hour)},
			"reset":             {true, lapse(24*time.Hour - time.Minute), lapse(24 * time.Hour)},
			"password":          {true, lapse(0), func(studio.User) error { return s.studio.SetPassword(ctx, bob.Email, "another password") }},
			"disabled user":     {true, lapse(0), func(studio.User) error { return s.studio.SetUserEnabled(ctx, ada, bob.Email, false) }},
			"removed role":      {true, lapse(0), func(by studio.User) error { return s.studio.ChangeRole(ctx, ada, by.Email, studio.NoRole) }},
			"disabled operator": {false, lapse(0), func(by studio.User) error { return s.studio.SetUserEnabled(ctx, ada, by.Email, false) }},
			"deleted operator":  {false, lapse(0), func(by studio.User) error { return db.RemoveUser(ctx, by.ID, s.studio.Now()) }}, // before the records
		} {
			later = 0
			check(t, s.studio.SetUserEnabled(ctx, ada, bob.Email, true))
			by := studiotest.AddUser(t, s.studio, strings.ReplaceAll(name, " ", "-")+"@example.com")
			check(t, s.studio.ChangeRole(ctx, studio.User{}, by.Email, studio.Operator))
			secret, err := s.studio.NewResetLink(ctx, by, bob.Email)
			if !c.reset {
				secret, err = s.studio.Invite(ctx, by, "eve@example.com", "", true)
			}
			check(t, err)
			check(t, c.before(by))
			v, path := s.newVisitor(t), console.LinkURL("", secret)
			opened := v.get(path)
			opened.want(t, http.StatusOK, `name="password"`)
			if policy := opened.header.Get("Referrer-Policy"); policy != "strict-origin" {
				t.Errorf("the policy is %q: browsers send the form with another origin", policy)
			}
			check(t, c.after(by))
			v.get(path).want(t, http.StatusNotFound, "This link was used or has expired.", "ask an operator for another one.")
			v.post("/console/link", url.Values{"key": {secret}, "password": {"a new password"}}).want(t, http.StatusNotFound, "This link was used or has expired.")
			err = s.studio.ChangeRole(ctx, by, by.Email, studio.Operator) // in a request that began before
			if gone := strings.HasSuffix(name, "operator") || name == "removed role"; t.Failed() || errors.Is(err, studio.ErrNotFound) != gone {
				t.Fatalf("%s: an act of the operator: %v", name, err)
			}
		}
	})
}

// An operator disables, enables, promotes and deletes users, but not the last operator.
func TestOperator_changesUsers(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	v := s.operator(t)
	bob := studiotest.AddUser(t, s.studio, "bob@example.com")
	visitor := s.signIn(t, bob.Email)
	change := func(email, act string) page {
		return v.post("/console/users/change", url.Values{"email": {email}, "act": {act}})
	}
	visitor.post("/console/users/change", url.Values{"email": {email}, "act": {"disable"}}).want(t, http.StatusNotFound)
	disabled := change(bob.Email, "disable")
	disabled.want(t, http.StatusOK, "The user is disabled.", ">disabled<")
	disabled.wantNone(t, "Reset the password") // the link would not work
	visitor.get("/console/avatars").want(t, http.StatusOK, "<h1>Sign in</h1>", "Your session has ended.")
	visitor.post("/console/login", url.Values{"email": {bob.Email}, "password": {password}}).want(t, http.StatusUnauthorized, "The email or the password is wrong.")
	change(bob.Email, "enable").want(t, http.StatusOK, "The user is enabled.")
	s.signIn(t, bob.Email)
	for _, act := range []string{"disable", "user", "delete"} {
		change(email, act).want(t, http.StatusConflict, "Operators cannot do this to themselves.")
	}
	change(bob.Email, "operator").want(t, http.StatusOK, "The user is an operator now.")
	change(bob.Email, "user").want(t, http.StatusOK, "The user is no operator any more.")
	change(bob.Email, "unknown").want(t, http.StatusNotFound)
	v.get("/console/users/delete?email=BOB@example.com").want(t, http.StatusOK, "Delete bob@example.com?", "cannot be undone")
	change(bob.Email, "delete").want(t, http.StatusOK, "The user is deleted.")
	change(bob.Email, "disable").want(t, http.StatusNotFound)
	change(email, "end-sessions").want(t, http.StatusOK, "<h1>Sign in</h1>", "Your session has ended.")
}

func TestOperator_managesWorkspaces(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	v := s.operator(t)
	studiotest.AddUser(t, s.studio, "bob@example.com")
	p := v.post("/console/workspaces/change", url.Values{"act": {"create"}, "name": {"Films"}})
	p.want(t, http.StatusOK, "Members of <bdi>Films</bdi>", "Nobody.", "The changes are saved.")
	films := regexp.MustCompile(`name="workspace" value="([^"]+)"`).FindStringSubmatch(p.text)[1]
	change := func(act, email string) page {
		return v.post("/console/workspaces/change", url.Values{"act": {act}, "workspace": {films}, "email": {email}})
	}
	change("add", "bob@example.com").want(t, http.StatusOK, `value="bob@example.com"`)
	change("remove", "bob@example.com").want(t, http.StatusOK, "Nobody.", "The changes are saved.")
	change("remove", "bob@example.com").want(t, http.StatusUnprocessableEntity, "There is no such user or workspace.", `value="" autocomplete`)
	v.post("/console/workspaces/change", url.Values{"act": {"add"}, "workspace": {"unknown"}, "email": {"bob@example.com"}}).want(t, http.StatusUnprocessableEntity, "There is no such user or workspace.")
	change("add", "nobody@example.com").want(t, http.StatusUnprocessableEntity, "There is no such user or workspace.", `value="nobody@example.com" autocomplete`)
	v.post("/console/workspaces/change", url.Values{"act": {"create"}, "name": {" "}}).want(t, http.StatusUnprocessableEntity, "Enter a name")
	v.get("/console/workspaces?workspace=unknown").want(t, http.StatusNotFound)
	log := v.get("/console/users/log")
	log.want(t, http.StatusOK, "created the workspace", "added to workspace "+films, "removed from workspace "+films)
	log.wantNone(t, "workspace unknown")
	s.signIn(t, "bob@example.com").get("/console/workspaces").want(t, http.StatusNotFound)
}
