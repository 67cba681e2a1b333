package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func TestProcess_keyRotationKeepsSessions(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	secret := prepareDatabase(t, dsn) // with secrets in plain text
	file := filepath.Join(t.TempDir(), "our.keys")
	fails(t, exitUsage, "no such file", "secret", "show", "--db", dsn, "--key-file", file, testEmail) // only serve creates it
	p := startProcess(t, dsn, "--key-file", file, "--renderer=simulate:0s")
	if log := p.Log(); !strings.Contains(log, `msg="secrets encrypted"`) || !strings.Contains(log, `msg="key file created`) {
		t.Error("what was in clear is not encrypted with the key of a new file")
	}
	token := login(t, p.URL, testEmail).AccessToken
	in := startInbox(t, secret)
	deliver := func() {
		t.Helper()
		lipsync := try(p.client.CreateLipsync(t.Context(), lipsyncRequest("Hello", in.url)))(t)
		in.want(t, lipsync.InferenceID, inferenceEvent("lipsync_inference_event", lipsync.InferenceID, "succeeded"))
	}
	deliver()
	before := try(os.ReadFile(file))(t)
	if said := must(t, "", "keyfile", "rotate", "--db", dsn, "--key-file", file); !strings.Contains(said, "secrets encrypted with the key ") {
		t.Error(said)
	}
	if acts := must(t, "", "audit", "--db", dsn, "--key-file", file); !strings.Contains(acts, "keyfile rotate") {
		t.Errorf("the audit log is\n%s", acts)
	}
	shown := must(t, "", "secret", "show", "--db", dsn, "--key-file", file, testEmail)
	if shown != secret.Reveal() {
		t.Error("the secret is another after the rotation")
	}
	must(t, testPassword, "user", "add", "--db", dsn, "bob@example.com") // who has no secret yet
	fails(t, exitUsage, "set --key-file", "secret", "rotate", "--db", dsn, "bob@example.com")
	if status := listStatus(t, p.URL, token); status != http.StatusOK {
		t.Errorf("after the rotation a token is answered %d", status)
	}
	must(t, "", "secret", "rotate", "--db", dsn, "--key-file", file, testEmail) // makes the daemon read the secrets again
	deliver()
	check(t, p.Stop())

	again := startProcess(t, dsn, "--key-file", file)
	if status := listStatus(t, again.URL, token); status != http.StatusOK {
		t.Errorf("after a restart a token is answered %d", status)
	}
	check(t, again.Stop())
	keys := try(os.ReadFile(file))(t)
	for _, log := range []string{p.Log(), again.Log()} {
		for line := range strings.Lines(string(keys) + shown) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") && strings.Contains(log, line) {
				t.Error("the log has a secret")
			}
		}
	}

	wrong, old := filepath.Join(t.TempDir(), "wrong.keys"), filepath.Join(t.TempDir(), "old.keys")
	check(t, keyring.New().Create(wrong))
	check(t, os.WriteFile(old, before, 0o600))
	for _, args := range [][]string{{"--key-file", wrong}, {"--key-file", file + ".missing"}, {"--key-file", old}, nil} {
		fails(t, exitUsage, "key", append([]string{"serve", "--addr", "127.0.0.1:0", "--db", dsn}, args...)...)
	}
	for _, made := range []string{file + ".missing", strings.TrimSuffix(strings.TrimPrefix(dsn, "sqlite:"), ".db") + ".keys"} {
		if exists(made) {
			t.Error("a key file is made for a database that has another: " + made)
		}
	}
}

// After a key file is lost, its secrets can be given up. Users and sessions are kept.
func TestKeyReset_goesOnWithoutALostKey(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	secret := prepareDatabase(t, dsn)
	directory := t.TempDir()
	lost, next := filepath.Join(directory, "lost.keys"), filepath.Join(directory, "next.keys")
	check(t, keyring.New().Create(lost))
	check(t, keyring.New().Create(next))
	p := startProcess(t, dsn, "--key-file", lost)
	session := try(p.client.Login(t.Context(), gen.LoginRequest{Email: testEmail, Password: testPassword}))(t)
	reset := func(args ...string) (code int, stdout, stderr string) {
		return studiod(t, "", append([]string{"keyfile", "reset", "--db", dsn}, args...)...)
	}
	fails(t, exitFailure, "another daemon uses", "keyfile", "reset", "--db", dsn, "--key-file", next, "--yes")
	check(t, p.Stop())
	db := try(store.Open(t.Context(), dsn, store.Config{}))(t)
	check(t, db.SeeDaemon(t.Context(), store.Daemon{ID: "worker", Started: time.Now()}))
	fails(t, exitUsage, "daemons", "keyfile", "reset", "--db", dsn, "--key-file", next, "--yes")
	check(t, errors.Join(db.RemoveDaemon(t.Context(), "worker"), db.Close()))
	if code, stdout, stderr := reset("--key-file", lost, "--yes"); code != exitOK || !strings.Contains(stdout, "nothing") {
		t.Errorf("with the key: exit code %d, %s, %s", code, stdout, stderr)
	}
	check(t, os.Remove(lost))
	for _, args := range [][]string{{"--key-file", lost}, {"--key-file", next}, nil} {
		fails(t, exitUsage, "studiod keyfile reset", append([]string{"serve", "--addr=127.0.0.1:0", "--db", dsn}, args...)...)
	}
	says := []string{"Access tokens", "URLs of files", "Lists", "Webhook secrets (1, users: 1)"}
	for _, confirmation := range []string{"", "--yes"} {
		code, stdout, stderr := reset(append([]string{"--key-file", next}, strings.Fields(confirmation)...)...)
		if done := strings.Contains(stdout, "deleted"); done != (confirmation != "") || (code == exitOK) != done {
			t.Errorf("%q: exit code %d, %s, %s", confirmation, code, stdout, stderr)
		}
		for _, want := range says {
			if !strings.Contains(stdout, want) {
				t.Errorf("%q does not say %q: %s", confirmation, want, stdout)
			}
		}
	}
	if acts := must(t, "", "audit", "--db", dsn, "--key-file", next); strings.Count(acts, "keyfile reset") != 2 {
		t.Errorf("the audit log is\n%s", acts)
	}
	again := startProcess(t, dsn, "--key-file", next)
	try(again.client.RefreshTokens(t.Context(), gen.RefreshRequest{RefreshToken: session.RefreshToken}))(t)
	if shown := must(t, "", "secret", "show", "--db", dsn, "--key-file", next, testEmail); shown == secret.Reveal() || !strings.HasPrefix(shown, "whsec_") {
		t.Errorf("the secret is not a new one")
	}
	check(t, again.Stop())
}

// On PostgreSQL, no lock shows that a daemon runs, only what it has written.
func TestKeyReset_findsDaemonsOnPostgreSQL(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.Database = studiotest.NewPostgres(t) })
	db := "--db=" + d.cfg.Database
	harness.Eventually(t, "the refusal", func() bool { // until then, no secret needs another key
		code, _, stderr := studiod(t, "", "keyfile", "reset", "--yes", db)
		return code == exitUsage && strings.Contains(stderr, "stop all daemons")
	})
}
