package console_test

import (
	"context"
	"errors"
	"html"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// operator returns a visitor who is an operator.
func (s *site) operator(t testing.TB) *visitor {
	t.Helper()
	check(t, s.studio.SetRole(t.Context(), email, studio.Operator))
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
	if p := use(bob, key, "a new password"); p.path != "/console/avatars" {
		t.Fatalf("the link leads to %s: %s", p.path, p.text)
	}
	bob.get("/console/account").want(t, http.StatusOK, ">Team<")
	for _, again := range []*visitor{bob, s.newVisitor(t)} {
		use(again, key, "a new password").want(t, http.StatusNotFound, "This link was used or has expired.")
		again.get(path).want(t, http.StatusNotFound)
	}
	v.post("/console/users/invite", url.Values{"email": {"bob@example.com"}}).want(t, http.StatusUnprocessableEntity, "There is a user with this email already.")
	v.post("/console/users/invite", url.Values{"email": {"bob"}}).want(t, http.StatusUnprocessableEntity, "Enter an email address.")

	_, key = linkOf(t, v.post("/console/users/change", url.Values{"email": {"bob@example.com"}, "act": {"reset"}}))
	use(s.newVisitor(t), key, "another password").want(t, http.StatusOK, "Welcome.")
	if p := bob.get("/console/avatars"); p.path == "/console/avatars" {
		t.Error("a session survives the new password")
	}
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

// abortedHash calls abort before it hashes a password.
type abortedHash struct {
	studio.Passwords

	abort func()
}

func (p abortedHash) Hash(ctx context.Context, password string) (string, error) {
	p.abort()
	return p.Passwords.Hash(ctx, password)
}

// A link whose use was interrupted, such as by a second click on the button, does what it is for.
func TestLinks_surviveAnInterruptedUse(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	_, key := linkOf(t, s.operator(t).post("/console/users/invite", url.Values{"email": {"bob@example.com"}}))
	ctx, cancel := context.WithCancel(t.Context())
	s.studio.Passwords = abortedHash{s.studio.Passwords, cancel}
	_, err := s.studio.UseLink(ctx, netip.Addr{}, key, "", "a new password")
	check(t, err)
	joined := s.newVisitor(t)
	joined.post("/console/link", url.Values{"key": {key}, "password": {"a new password"}}).want(t, http.StatusNotFound, "If you have chosen a password with it, sign in.")
	joined.post("/console/login", url.Values{"email": {"bob@example.com"}, "password": {"a new password"}}).want(t, http.StatusOK, "<h1>Avatars</h1>")
}

// A link ends after its time, whichever browser has opened it before.
func TestLinks_expire(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		s := newSite(t, db)
		var later atomic.Int64
		s.studio.Now = func() time.Time { return time.Now().UTC().Add(time.Duration(later.Load())) }
		studiotest.AddUser(t, s.studio, "bob@example.com")
		v := s.operator(t)
		for lifetime, link := range map[time.Duration]func() page{
			7 * 24 * time.Hour: func() page { return v.post("/console/users/invite", url.Values{"email": {"eve@example.com"}}) },
			24 * time.Hour: func() page {
				return v.post("/console/users/change", url.Values{"email": {"bob@example.com"}, "act": {"reset"}})
			},
		} {
			later.Store(0)
			path, key := linkOf(t, link())
			later.Store(int64(lifetime - time.Minute))
			s.newVisitor(t).get(path).want(t, http.StatusOK)
			later.Store(int64(lifetime))
			visitor := s.newVisitor(t)
			visitor.get(path).want(t, http.StatusNotFound, "This link was used or has expired.", "ask an operator for another one.")
			visitor.post("/console/link", url.Values{"key": {key}, "password": {"a new password"}}).want(t, http.StatusNotFound, "This link was used or has expired.")
		}
	})
}

// keptSessions cannot end a session.
type keptSessions struct{ studio.Store }

func (keptSessions) DeleteFamily(context.Context, []byte, time.Time) error { return studio.ErrBusy }

// A link that is used in the browser of somebody else signs them out.
func TestLinks_endTheSessionOfAnotherUser(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	v := s.operator(t)
	path, key := linkOf(t, v.post("/console/users/invite", url.Values{"email": {"bob@example.com"}}))
	v.get(path).want(t, http.StatusOK, "In this browser, "+email+" is signed in")
	before := v.http.Jar.Cookies(mustParse(t, s.URL+"/console"))[0]
	v.post("/console/link", url.Values{"key": {key}, "password": {"a new password"}}).want(t, http.StatusOK, "Welcome.", `title="bob@example.com"`)
	if _, _, err := s.studio.Session(t.Context(), before.Value); !errors.Is(err, studio.ErrUnauthorized) {
		t.Errorf("the session of the other user: %v", err)
	}

	_, key = linkOf(t, s.signIn(t, email).post("/console/users/invite", url.Values{"email": {"carl@example.com"}}))
	s.studio.Store = keptSessions{s.store}
	v.post("/console/link", url.Values{"key": {key}, "password": {"a new password"}}).want(t, http.StatusOK, "Welcome.", `title="carl@example.com"`)
}

// A link to reset the password ends when the user has another password, and while the user is disabled.
func TestResetLink_endsWithThePasswordThatItResets(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		s := newSite(t, db)
		v, bob := s.operator(t), s.newVisitor(t)
		user := studiotest.AddUser(t, s.studio, "bob@example.com")
		path, key := linkOf(t, v.post("/console/users/change", url.Values{"email": {user.Email}, "act": {"reset"}}))
		if policy := bob.get(path).header.Get("Referrer-Policy"); policy != "strict-origin" {
			t.Errorf("the policy is %q: browsers send the form with another origin", policy)
		}
		change := func(act string) {
			v.post("/console/users/change", url.Values{"email": {user.Email}, "act": {act}}).want(t, http.StatusOK)
		}
		change("disable")
		bob.post("/console/link", url.Values{"key": {key}, "password": {"a new password"}}).want(t, http.StatusNotFound, "This link was used or has expired.")
		change("enable")
		bob.get(path).want(t, http.StatusOK)
		check(t, s.studio.SetPassword(t.Context(), user.Email, "another password"))
		bob.get(path).want(t, http.StatusNotFound, "This link was used or has expired.")
	})
}

// Nobody becomes an operator again with a link from before.
func TestLinks_endWithTheirOperator(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		s := newSite(t, db)
		v := s.operator(t)
		for _, act := range []string{"user", "disable"} {
			bob := studiotest.AddUser(t, s.studio, act+"@example.com")
			check(t, s.studio.SetRole(t.Context(), bob.Email, studio.Operator))
			operator := s.signIn(t, bob.Email)
			invitation, _ := linkOf(t, operator.post("/console/users/invite", url.Values{"email": {"eve@example.com"}, "role": {"operator"}}))
			reset, _ := linkOf(t, operator.post("/console/users/change", url.Values{"email": {email}, "act": {"reset"}}))
			v.get(invitation).want(t, http.StatusOK)
			v.post("/console/users/change", url.Values{"email": {bob.Email}, "act": {act}}).want(t, http.StatusOK)
			for _, path := range []string{invitation, reset} {
				v.get(path).want(t, http.StatusNotFound, "This link was used or has expired.")
			}
		}
	})
}

// A user who is disabled is locked out everywhere, until enabled.
func TestOperator_disablesUsers(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		s := newSite(t, db)
		v := s.operator(t)
		bob := studiotest.AddUser(t, s.studio, "bob@example.com")
		_, secret, err := s.studio.AddAPIKey(t.Context(), studio.APIKey{UserID: bob.ID, Name: "batch"})
		check(t, err)
		hash, _ := studio.HashAPIKey(secret)
		visitor := s.signIn(t, bob.Email)
		change := func(email, act string) page {
			return v.post("/console/users/change", url.Values{"email": {email}, "act": {act}})
		}
		visitor.post("/console/users/change", url.Values{"email": {email}, "act": {"disable"}}).want(t, http.StatusNotFound)
		disabled := change(bob.Email, "disable")
		disabled.want(t, http.StatusOK, "The user is disabled.", ">disabled<")
		disabled.wantNone(t, "Reset the password") // the link would not work
		if p := visitor.get("/console/avatars"); p.path == "/console/avatars" {
			t.Error("a session of a disabled user goes on")
		}
		visitor.post("/console/login", url.Values{"email": {bob.Email}, "password": {password}}).want(t, http.StatusUnauthorized, "The email or the password is wrong.")
		if _, err := s.studio.CheckAPIKey(t.Context(), hash); err == nil {
			t.Error("an API key of a disabled user is accepted")
		}
		change(bob.Email, "enable").want(t, http.StatusOK, "The user is enabled.")
		s.signIn(t, bob.Email)
		if _, err := s.studio.CheckAPIKey(t.Context(), hash); err != nil {
			t.Error(err)
		}
		for _, act := range []string{"disable", "user"} {
			change(email, act).want(t, http.StatusConflict, "Operators cannot do this to themselves.")
		}
		change(bob.Email, "operator").want(t, http.StatusOK, "The user is an operator now.")
		change(email, "disable").want(t, http.StatusConflict)
		change(bob.Email, "user").want(t, http.StatusOK, "The user is no operator any more.")
		change(bob.Email, "unknown").want(t, http.StatusNotFound)
		v.get("/console/users/delete?email=BOB@example.com").want(t, http.StatusOK, "Delete bob@example.com?", "cannot be undone")
		v.get("/console/users/delete?email=nobody@example.com").want(t, http.StatusNotFound)
		change(email, "delete").want(t, http.StatusConflict, "Operators cannot do this to themselves.")
		change(bob.Email, "delete").want(t, http.StatusOK, "The user is deleted.")
		if _, err := s.studio.UserByEmail(t.Context(), bob.Email); !errors.Is(err, studio.ErrNotFound) {
			t.Errorf("after the deletion: %v", err)
		}
		change("nobody@example.com", "disable").want(t, http.StatusNotFound)
		change(email, "end-sessions").want(t, http.StatusOK, "<h1>Sign in</h1>", "Your session has ended.")
	})
}

func TestOperator_managesWorkspaces(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	v := s.operator(t)
	studiotest.AddUser(t, s.studio, "bob@example.com")
	p := v.post("/console/workspaces/change", url.Values{"act": {"create"}, "name": {"Films"}})
	p.want(t, http.StatusOK, "Members of Films", "Nobody.")
	films := regexp.MustCompile(`name="workspace" value="([^"]+)"`).FindStringSubmatch(p.text)[1]
	change := func(act, email string) page {
		return v.post("/console/workspaces/change", url.Values{"act": {act}, "workspace": {films}, "email": {email}})
	}
	change("add", "bob@example.com").want(t, http.StatusOK, `value="bob@example.com"`)
	change("remove", "bob@example.com").want(t, http.StatusOK, "Nobody.")
	change("remove", "bob@example.com").want(t, http.StatusUnprocessableEntity, "There is no such user or workspace.")
	v.post("/console/workspaces/change", url.Values{"act": {"add"}, "workspace": {"unknown"}, "email": {"bob@example.com"}}).want(t, http.StatusUnprocessableEntity, "There is no such user or workspace.")
	change("add", "nobody@example.com").want(t, http.StatusUnprocessableEntity, "There is no such user or workspace.")
	v.post("/console/workspaces/change", url.Values{"act": {"create"}, "name": {" "}}).want(t, http.StatusUnprocessableEntity, "Enter a name")
	v.get("/console/workspaces?workspace=unknown").want(t, http.StatusNotFound)
	log := v.get("/console/users/log")
	log.want(t, http.StatusOK, "created the workspace", "added to workspace "+films, "removed from workspace "+films)
	log.wantNone(t, "workspace unknown")
	s.signIn(t, "bob@example.com").get("/console/workspaces").want(t, http.StatusNotFound)
}

// Whoever sets the service up with the email of a user, who is no operator, learns how to go on.
func TestLinks_setupNamesTheCommandForAUser(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	key, err := s.studio.NewSetupLink(t.Context())
	check(t, err)
	s.newVisitor(t).post("/console/link", url.Values{"key": {key}, "email": {email}, "password": {"a new password"}}).
		want(t, http.StatusUnprocessableEntity, "studiod user role EMAIL operator")
}
