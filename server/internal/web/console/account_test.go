package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A key is shown once, to its user only.
func TestAccount_showsAPIKeysOnce(t *testing.T) {
	t.Parallel()
	s, v := signedIn(t)
	made := v.post("/console/account/keys", url.Values{"name": {"monitor"}, "scope": {"read"}, "days": {"30"}, "workspace": {s.workspace}})
	made.want(t, http.StatusOK, "monitor", "in <bdi>Team</bdi>", "never", ">read<")
	secret := regexp.MustCompile(`avs_[0-9A-Za-z]{38}`).FindString(made.text)
	hash, ok := studio.HashAPIKey(secret)
	if !ok || made.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("the page shows no key: %s", made.text)
	}
	key := try(s.studio.CheckAPIKey(t.Context(), hash))(t)
	if !key.ReadOnly || key.UserID != s.user.ID || key.WorkspaceID != s.workspace || key.ExpiresAt.IsZero() {
		t.Errorf("the key is %+v", key)
	}
	v.get("/console/account").wantNone(t, "avs_")

	bob := s.join(t, "bob@example.com", studio.NoRole)
	bob.get("/console/account").wantNone(t, "monitor")
	bob.post("/console/account/revoke", url.Values{"key": {key.ID}}).want(t, http.StatusNotFound)
	bob.post("/console/account/keys", url.Values{"name": {"batch"}, "workspace": {s.workspace}}).want(t, http.StatusForbidden)
	v.post("/console/account/keys", url.Values{"name": {" "}, "scope": {"write"}, "days": {"365"}, "workspace": {s.workspace}}).
		want(t, http.StatusUnprocessableEntity, "Enter a name", `"write" selected`, `"365" selected`, s.workspace+`" selected`)
	v.post("/console/account/revoke", url.Values{"key": {key.ID}}).want(t, http.StatusOK, "The API key is revoked.")
	if _, err := s.studio.CheckAPIKey(t.Context(), hash); err == nil {
		t.Error("a revoked key is valid")
	}
}

// A user leaves with everything, unless the password is wrong or no operator would be left.
func TestAccount_leaves(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	olga := s.operator(t)
	bob := studiotest.AddUser(t, s.studio, "bob@example.com")
	v := s.signIn(t, bob.Email)
	leave := func(v *visitor, password string) page {
		return v.post("/console/account/leave", url.Values{"password": {password}})
	}
	leave(v, "guess").want(t, http.StatusUnprocessableEntity, `id="leave-error">The current password is wrong.`)
	v.get("/console/account").want(t, http.StatusOK, "This deletes your account.", "shared links no longer work")
	left := leave(v, password)
	left.want(t, http.StatusOK, "Your account is deleted, with everything that was yours.")
	if left.path != "/console/login" || v.get("/console/account").path != "/console/login" {
		t.Errorf("the way leads to %s", left.path)
	}
	v.post("/console/login", url.Values{"email": {bob.Email}, "password": {password}}).want(t, http.StatusUnauthorized)
	leave(olga, password).want(t, http.StatusConflict, "No operator would be left.")
	olga.get("/console/users/log").want(t, http.StatusOK, ">"+bob.Email+"<", ">left<")
}

// A user sees and ends the own sessions only. A new password ends the others, and needs the current one.
func TestAccount_endsSessions(t *testing.T) {
	t.Parallel()
	s, v := signedIn(t)
	s.signIn(t, email)
	others := func(want int) [][]string {
		p := v.get("/console/account")
		p.want(t, http.StatusOK, "this one")
		ids := regexp.MustCompile(`name="session" value="([^"]+)"`).FindAllStringSubmatch(p.text, -1)
		if len(ids) != want {
			t.Fatalf("%d other sessions are shown, want %d", len(ids), want)
		}
		return ids
	}
	ids := others(1)
	end := func(v *visitor) page { return v.post("/console/account/sessions", url.Values{"session": {ids[0][1]}}) }
	end(s.join(t, "bob@example.com", studio.NoRole)).want(t, http.StatusNotFound)
	end(v).want(t, http.StatusOK, "The session has ended.")
	s.signIn(t, email)
	change := func(current, password string) page {
		return v.post("/console/account/password", url.Values{"current": {current}, "password": {password}})
	}
	change("guess", "another password").want(t, http.StatusUnprocessableEntity, "The current password is wrong.")
	change(password, "short").want(t, http.StatusUnprocessableEntity, "8 to 1024 bytes", `minlength="8" required aria-invalid="true"`)
	others(1)
	change(password, "another password").want(t, http.StatusOK, "The password is changed.", "this one")
	others(0)
}
