package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
)

// spoil replaces the stored access token by one that the service rejects, as if it had expired.
func spoil(t *testing.T, p *program) {
	t.Helper()
	file := credentials{p.Directory}
	kept, err := file.load()
	check(t, err)
	kept.AccessToken = "spoilt"
	check(t, file.save(kept))
}

func TestLogin_storesTokensOnlyForTheUser(t *testing.T) {
	t.Parallel()
	s := startService(t)
	p := s.loggedIn(t)
	file := credentials{p.Directory}
	for path, want := range map[string]os.FileMode{p.Directory: 0o700, file.path(): 0o600, file.path() + ".lock": 0o600} {
		info, err := os.Stat(path)
		check(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has the mode %o", filepath.Base(path), got)
		}
	}
	data, err := os.ReadFile(file.path())
	check(t, err)
	if strings.Contains(string(data), testPassword) {
		t.Error("the password is kept")
	}
	if entries, err := os.ReadDir(p.Directory); err != nil || len(entries) != 2 {
		t.Errorf("%v is left behind (%v)", entries, err)
	}

	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		check(t, os.Chmod(file.path(), mode))
		if code, _, stderr := p.run(t, "", "projects"); code != exitFailure || !strings.Contains(stderr, "0600") {
			t.Errorf("mode %o: exit code %d, %s", mode, code, stderr)
		}
	}
	p.must(t, testPassword, "login", "--base-url", s.url, "--email", testEmail, "--password-stdin", "--workspace", s.workspace)
	p.must(t, "", "projects")

	p.must(t, "", "logout")
	p.must(t, "", "logout")
	if code, _, stderr := p.run(t, "", "projects", "--base-url", s.url); code != exitUnauthorized || !strings.Contains(stderr, "not logged in") {
		t.Errorf("after a logout: exit code %d, %s", code, stderr)
	}
}

func TestLogin_promptsOnATerminal(t *testing.T) {
	t.Parallel()
	s := startService(t)
	p := newTest(t)
	p.ReadPassword = func(context.Context) (string, error) { return testPassword, nil }
	code, stdout, stderr := p.run(t, testEmail+"\n", "login", "--base-url", s.url, "--json")
	if code != exitOK || stderr != "Email: Password:" {
		t.Fatalf("exit code %d, %q", code, stderr)
	}
	var kept map[string]string
	if err := json.Unmarshal([]byte(stdout), &kept); err != nil || kept["base_url"] != s.url || kept["email"] != testEmail || len(kept) != 3 {
		t.Errorf("%q is printed", stdout)
	}
}

// The service treats the reuse of a refresh token as theft and ends the login.
func TestTokens_areRenewedByOneCommandAtATime(t *testing.T) {
	t.Parallel()
	s := startService(t)
	p := s.loggedIn(t)
	for range 3 {
		spoil(t, p)
		var commands sync.WaitGroup
		for range 6 {
			commands.Go(func() {
				if code, _, stderr := p.run(t, "", "projects"); code != exitOK {
					t.Errorf("exit code %d, %s", code, stderr)
				}
			})
		}
		commands.Wait()
	}
	kept, err := credentials{p.Directory}.load()
	check(t, err)
	check(t, credentials{p.Directory}.save(login{BaseURL: kept.BaseURL, Email: kept.Email, AccessToken: "spoilt", RefreshToken: "unknown"}))
	code, _, stderr := p.run(t, "", "avatar", "show", "a")
	if code != exitUnauthorized || !strings.Contains(stderr, "the login has ended") {
		t.Errorf("a refresh token that is refused: exit code %d, %s", code, stderr)
	}
}

// A renewal uses the tokens that another command stored meanwhile, but not those of another user.
func TestTokens_useTheRenewalOfAnotherCommand(t *testing.T) {
	t.Parallel()
	file := credentials{t.TempDir()}
	old := login{BaseURL: "http://127.0.0.1:1", Email: testEmail, AccessToken: "old", RefreshToken: "used"}
	renewed := old
	renewed.AccessToken = "new"
	check(t, file.save(renewed))
	tokens := &keptTokens{file: file, kept: old}
	for _, refused := range []client.Credential{"old", "", "old"} {
		if token, err := tokens.Token(t.Context(), refused); refused != "" && (err != nil || string(token) != "new") {
			t.Errorf("the token is not what was renewed (%v)", err)
		}
	}
	renewed.Email = "bob@example.com"
	check(t, file.save(renewed))
	tokens = &keptTokens{file: file, kept: old}
	if _, err := tokens.Token(t.Context(), "old"); err == nil {
		t.Error("the token of another user is taken")
	}
	check(t, file.remove())
	if _, err := tokens.Token(t.Context(), "old"); err == nil {
		t.Error("the token of a login that is gone is renewed")
	}
}

// The response to a renewal is stored even if the command is interrupted.
func TestTokens_areStoredWhenARenewalIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	p := newTest(t)
	url := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/users/refresh" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		interrupt()
		_, _ = w.Write([]byte(`{"access_token":"new","refresh_token":"next"}`))
	})
	file := credentials{p.Directory}
	check(t, os.Mkdir(p.Directory, 0o700))
	check(t, file.save(login{BaseURL: url, Email: testEmail, AccessToken: "old", RefreshToken: "first"}))
	if code, stdout, stderr := p.runWith(ctx, "", "avatar", "show", "a"); code != exitInterrupted || stdout+stderr != "" {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	if kept, err := file.load(); err != nil || kept.AccessToken != "new" || kept.RefreshToken != "next" {
		t.Errorf("what was answered is lost (%v)", err)
	}
}

// Flags override the environment, and the environment overrides the credentials file. Tokens are sent only
// to the service that issued them.
func TestService_flagsOverrideEnvironmentAndFile(t *testing.T) {
	t.Parallel()
	type seen struct{ authorization, workspace string }
	serve := func(t *testing.T) (string, *seen) {
		var got seen
		return startFake(t, func(w http.ResponseWriter, r *http.Request) {
			got = seen{r.Header.Get("Authorization"), r.Header.Get("X-Workspace-Id")}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"access_token":"of a login","data":[]}`))
		}), &got
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
		"the file alone":                          {calls: 1, want: seen{"Bearer kept", "kept"}},
		"a workspace in the environment":          {env: client.Config{Workspace: "env"}, calls: 1, want: seen{"Bearer kept", "env"}},
		"a workspace in a flag":                   {env: client.Config{Workspace: "env"}, args: []string{"--workspace=flag"}, calls: 1, want: seen{"Bearer kept", "flag"}},
		"a token in the environment":              {env: client.Config{Token: "env"}, calls: 1, want: seen{"Bearer env", "kept"}},
		"a password in the environment":           {env: client.Config{Email: "a", Password: "b"}, calls: 1, want: seen{"Bearer of a login", "kept"}},
		"the same service in the environment":     {url: 1, calls: 1, want: seen{"Bearer kept", "kept"}},
		"another service in the environment":      {url: 2, code: exitUnauthorized},
		"another service in a flag":               {url: 1, flag: 2, code: exitUnauthorized},
		"another service, with a token for it":    {env: client.Config{Token: "env", Workspace: "env"}, flag: 2, calls: 2, want: seen{"Bearer env", "env"}},
		"a workspace is not taken elsewhere":      {env: client.Config{Token: "env"}, flag: 2, code: exitFailure},
		"the email of the login":                  {env: client.Config{Email: testEmail}, calls: 1, want: seen{"Bearer kept", "kept"}},
		"another email":                           {env: client.Config{Email: "bob@example.com"}, code: exitUnauthorized},
		"a token and a password":                  {env: client.Config{Token: "env", Email: "a", Password: "b"}, code: exitUsage},
		"a password without an email":             {env: client.Config{Password: "b"}, code: exitUsage},
		"a flag before the environment's service": {url: 2, flag: 1, calls: 1, want: seen{"Bearer kept", "kept"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, gotOne := serve(t)
			two, gotTwo := serve(t)
			urls := []string{"", one, two}
			p := newTest(t)
			p.Env = test.env
			p.Env.BaseURL = urls[test.url]
			unlock, err := credentials{p.Directory}.lock(t.Context())
			check(t, err)
			check(t, credentials{p.Directory}.save(login{BaseURL: one, Email: testEmail, Workspace: "kept", AccessToken: "kept", RefreshToken: "kept"}))
			unlock()
			args := append([]string{"projects"}, test.args...)
			if test.flag != 0 {
				args = append(args, "--base-url", urls[test.flag])
			}
			code, _, stderr := p.run(t, "", args...)
			var want [3]seen
			want[test.calls] = test.want
			if code != test.code || *gotOne != want[1] || *gotTwo != want[2] {
				t.Errorf("exit code %d, %s; the service was sent %+v, the other %+v", code, stderr, *gotOne, *gotTwo)
			}
		})
	}
}

func TestCredentials_refusesInvalidFiles(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", "[]", "hunter2", `{"base_url":7}`} {
		p := newTest(t)
		check(t, os.Mkdir(p.Directory, 0o700))
		check(t, os.WriteFile(credentials{p.Directory}.path(), []byte(text), 0o600))
		if code, _, stderr := p.run(t, "", "projects"); code != exitFailure || !strings.Contains(stderr, "log in again") || strings.Contains(stderr, "hunter2") {
			t.Errorf("%q: exit code %d, %s", text, code, stderr)
		}
	}
	p := &program{}
	if code, _, _ := p.run(t, "", "logout"); code != exitFailure {
		t.Error("a login is forgotten without a directory")
	}
}
