package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
)

func TestLogin_storesTokensOnlyForTheUser(t *testing.T) {
	t.Parallel()
	s, p := startService(t)
	file := credentials{p.Directory}
	for path, want := range map[string]os.FileMode{p.Directory: 0o700, file.path(): 0o600, file.path() + ".lock": 0o600} {
		info := try(os.Stat(path))(t)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has the mode %o", filepath.Base(path), got)
		}
	}
	data := try(os.ReadFile(file.path()))(t)
	if entries, err := os.ReadDir(p.Directory); err != nil || len(entries) != 2 || strings.Contains(string(data), s.Password) {
		t.Errorf("%v remain (%v), or the password is stored", entries, err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		check(t, os.Chmod(file.path(), mode))
		p.mustFail(t, exitFailure, "0600", "project", "list")
	}
	said := p.must(t, s.Password, "login", "--json", "--base-url", s.URL, "--email", s.Email, "--password-stdin", "--workspace", s.Workspace)
	if want := fmt.Sprintf(`{"base_url":%q,"email":%q,"workspace":%q}`, s.URL, s.Email, s.Workspace); said != want {
		t.Errorf("%s is printed, want %s", said, want)
	}
	p.must(t, "", "project", "list")
	another := answering(t, func(*http.Request) string { return `{}` }).Env.BaseURL
	p.mustFailWith(t, s.Password, exitFailure, "no tokens", "login", "--base-url", another, "--email", s.Email, "--password-stdin")
	p.must(t, "", "project", "list")
}

// A logout ends the session, for a copy of its tokens, too. If the service cannot do that, the tokens are deleted
// nevertheless, and the command says so. If it is interrupted, it can be repeated.
func TestLogout_endsTheSession(t *testing.T) {
	t.Parallel()
	s, p := startService(t)
	other := loggedIn(t, s.URL, s.Workspace, s.Password)
	file := credentials{p.Directory}
	stored := try(file.load())(t)
	p.must(t, "", "logout")
	p.mustFail(t, exitUnauthorized, "not logged in", "project", "list", "--base-url", s.URL)
	check(t, file.save(stored))
	p.mustFail(t, exitUnauthorized, "the login has expired", "project", "list")
	other.must(t, "", "project", "list")

	for name, spoil := range map[string]func(path string) error{
		"session goes on": func(path string) error { return os.Truncate(path, 1) },
		"other users":     func(path string) error { return os.Chmod(path, 0o644) },
		"not contain":     func(path string) error { return errors.Join(os.Remove(path), os.Symlink(filepath.Dir(path), path)) },
		"501": func(string) error {
			stored.BaseURL = startFake(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotImplemented) })
			return file.save(stored)
		},
	} {
		check(t, file.save(stored))
		check(t, spoil(file.path()))
		p.mustFail(t, exitFailure, name, "logout")
		p.must(t, "", "logout") // there are no tokens
	}
	target := filepath.Join(t.TempDir(), "elsewhere")
	check(t, os.WriteFile(target, nil, 0o600))
	check(t, os.Symlink(target, file.path()))
	check(t, file.save(stored))
	ctx, interrupt := context.WithCancel(t.Context())
	stored.BaseURL = startFake(t, func(http.ResponseWriter, *http.Request) { interrupt(); panic(http.ErrAbortHandler) })
	check(t, file.save(stored))
	if code, _, _ := p.runWith(ctx, "", "logout"); code != exitInterrupted || try(file.load())(t) != stored {
		t.Errorf("an interrupted logout ends with %d", code)
	}
	p.mustFail(t, exitFailure, "session goes on", "logout")
	_, remain := os.Stat(target)
	if check(t, file.save(stored)); remain == nil || try(os.Readlink(filepath.Join(p.Directory, credentialsName)))(t) != target {
		t.Error("the tokens remain where a link led to, or a login replaces the link")
	}
}

// A service that accepts no connection does not hold a logout up.
func TestLogout_isNotHeldUp(t *testing.T) {
	t.Parallel()
	file := credentials{t.TempDir()}
	check(t, file.save(login{BaseURL: "http://127.0.0.1", Email: "ada@example.com", AccessToken: "a", RefreshToken: "b"}))
	synctest.Test(t, func(t *testing.T) {
		p := &program{retry: client.Retry{Attempts: attempts}, transport: &http.Transport{
			Proxy: func(r *http.Request) (*url.URL, error) { // a dial would go on after the request
				<-r.Context().Done()
				return nil, r.Context().Err()
			},
		}}
		began := time.Now()
		if err := p.endSession(t.Context(), file); err == nil || time.Since(began) != responseTimeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// An API key, here an access token, is used as it is until it is revoked. It is not a part of any output.
func TestLogin_storesAPIKey(t *testing.T) {
	t.Parallel()
	s, p := startService(t)
	stored := try(credentials{p.Directory}.load())(t)
	key, login := stored.AccessToken, []string{"login", "--base-url", s.URL, "--workspace", s.Workspace, "--token"}
	if said := p.must(t, key+"\n", login...); strings.Contains(said, key) || !strings.Contains(said, "API key") {
		t.Errorf("%q is printed", said)
	}
	p.must(t, "", "project", "list")
	s.ExpireTokens()
	p.mustFail(t, exitUnauthorized, "the API key has expired or was revoked", "project", "list")
	p.mustFail(t, exitUsage, "missing API key", login...)
	if code, _, stderr := p.run(t, key, login...); code != exitUnauthorized || strings.Contains(stderr, key) {
		t.Errorf("a revoked key: exit code %d, %s", code, stderr)
	}
}

// The service treats the reuse of a refresh token as theft and ends the login.
func TestTokens_areRenewedByOneCommandAtATime(t *testing.T) {
	t.Parallel()
	s, p := startService(t)
	for range 2 {
		s.ExpireTokens()
		var commands sync.WaitGroup
		for range 4 {
			commands.Go(func() {
				if code, _, stderr := p.run(t, "", "project", "list"); code != exitOK {
					t.Errorf("exit code %d, %s", code, stderr)
				}
			})
		}
		commands.Wait()
	}
	if renewals := len(s.Requests("refreshTokens")); renewals != 2 {
		t.Errorf("the tokens are renewed %d times", renewals)
	}
}

// A renewal uses the tokens that another command stored meanwhile, but not those of another user.
func TestTokens_useTheRenewalOfAnotherCommand(t *testing.T) {
	t.Parallel()
	file := credentials{t.TempDir()}
	old := login{BaseURL: "http://127.0.0.1:1", Email: "ada@example.com", AccessToken: "old", RefreshToken: "used"}
	renewed := old
	renewed.AccessToken = "new"
	check(t, file.save(renewed))
	tokens := &storedTokens{file: file, stored: old}
	if token, err := tokens.Token(t.Context(), "old"); err != nil || string(token) != "new" {
		t.Errorf("the token is not the renewed one (%v)", err)
	}
	renewed.Email = "bob@example.com"
	check(t, file.save(renewed))
	tokens = &storedTokens{file: file, stored: old}
	if _, err := tokens.Token(t.Context(), "old"); err == nil {
		t.Error("the token of another user is used")
	}
	check(t, os.Remove(file.path()))
	if _, err := tokens.Token(t.Context(), "old"); err == nil {
		t.Error("the token of a deleted login is renewed")
	}
}

// The response to a renewal is stored even if the command is interrupted. It is known before that it can be.
func TestTokens_areStoredWhenARenewalIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	p := newTest(t)
	file := credentials{p.Directory}
	url := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/users/refresh" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if info, err := os.Stat(file.path()); err != nil || info.ModTime().Equal(time.Unix(0, 0)) {
			t.Errorf("the file may not be writable (%v)", err)
		}
		interrupt()
		_, _ = w.Write([]byte(`{"access_token":"new","refresh_token":"next"}`))
	})
	check(t, os.Mkdir(p.Directory, 0o700))
	check(t, file.save(login{BaseURL: url, Email: "ada@example.com", AccessToken: "old", RefreshToken: "first"}))
	check(t, os.Chtimes(file.path(), time.Unix(0, 0), time.Unix(0, 0)))
	if code, stdout, stderr := p.runWith(ctx, "", "avatar", "show", "a"); code != exitInterrupted || stdout+stderr != "" {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	if stored, err := file.load(); err != nil || stored.AccessToken != "new" || stored.RefreshToken != "next" {
		t.Errorf("the new tokens are not stored (%v)", err)
	}
}

// Flags override the environment, and the environment overrides the credentials file. Tokens are sent only
// to the service that issued them.
func TestService_flagsOverrideEnvironmentAndFile(t *testing.T) {
	t.Parallel()
	type seen struct{ authorization, workspace string }
	serve := func(t *testing.T) (string, *seen) {
		var got seen
		return answering(t, func(r *http.Request) string {
			got = seen{r.Header.Get("Authorization"), r.Header.Get("X-Workspace-Id")}
			return `{"access_token":"of a login","data":[]}`
		}).Env.BaseURL, &got
	}
	for name, test := range map[string]struct {
		env   client.Config
		url   int // environment variable: 1 is the URL of the file, 2 is another URL
		args  []string
		flag  int
		code  int
		calls int
		want  seen
	}{
		"the file alone":                          {calls: 1, want: seen{"Bearer stored", "stored"}},
		"a workspace in a flag":                   {env: client.Config{Workspace: "env"}, args: []string{"--workspace=flag"}, calls: 1, want: seen{"Bearer stored", "flag"}},
		"a token in the environment":              {env: client.Config{Token: "env"}, calls: 1, want: seen{"Bearer env", "stored"}},
		"a password in the environment":           {env: client.Config{Email: "a", Password: "b"}, calls: 1, want: seen{"Bearer of a login", "stored"}},
		"another service in the environment":      {url: 2, code: exitUnauthorized},
		"another service in a flag":               {url: 1, flag: 2, code: exitUnauthorized},
		"another service, with a token for it":    {env: client.Config{Token: "env", Workspace: "env"}, flag: 2, calls: 2, want: seen{"Bearer env", "env"}},
		"a workspace is not taken elsewhere":      {env: client.Config{Token: "env"}, flag: 2, code: exitUsage},
		"the email of the login":                  {env: client.Config{Email: "ada@example.com"}, calls: 1, want: seen{"Bearer stored", "stored"}},
		"another email":                           {env: client.Config{Email: "bob@example.com"}, code: exitUnauthorized},
		"a flag before the environment's service": {url: 2, flag: 1, calls: 1, want: seen{"Bearer stored", "stored"}},
	} {
		one, gotOne := serve(t)
		two, gotTwo := serve(t)
		urls := []string{"", one, two}
		p := newTest(t)
		p.Env = test.env
		p.Env.BaseURL = urls[test.url]
		check(t, os.Mkdir(p.Directory, 0o700))
		check(t, credentials{p.Directory}.save(login{BaseURL: one, Email: "ada@example.com", Workspace: "stored", AccessToken: "stored", RefreshToken: "stored"}))
		args := append([]string{"project", "list"}, test.args...)
		if test.flag != 0 {
			args = append(args, "--base-url", urls[test.flag])
		}
		code, _, stderr := p.run(t, "", args...)
		var want [3]seen
		want[test.calls] = test.want
		if code != test.code || *gotOne != want[1] || *gotTwo != want[2] {
			t.Errorf("%s: exit code %d, %s; the service received %+v, the other %+v", name, code, stderr, *gotOne, *gotTwo)
		}
	}
}

func TestCredentials_refusesInvalidFiles(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", "[]", "hunter2", `{"base_url":7}`} {
		p := newTest(t)
		check(t, os.Mkdir(p.Directory, 0o700))
		check(t, os.WriteFile(credentials{p.Directory}.path(), []byte(text), 0o600))
		p.mustFail(t, exitFailure, "log in again", "project", "list")
	}
	(&program{}).mustFail(t, exitFailure, "HOME", "logout")
}
