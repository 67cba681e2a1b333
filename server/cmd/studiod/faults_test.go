package main

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A database that was deleted beside its key file is not created again.
func TestDatabase_isNotCreatedBesideAKeyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, file := filepath.Join(dir, "deleted.db"), filepath.Join(dir, "deleted.keys")
	check(t, errors.Join(keyring.New().Create(file), os.WriteFile(filepath.Join(dir, "installation"), []byte("files of its id"), 0o600)))
	fails(t, exitFailure, path+" is missing or empty, although its key file "+file, "user", "add", "--db=sqlite:"+path, testEmail)
	fails(t, exitFailure, file, "serve", "--db=sqlite:"+path, "--media=file:"+dir, "--addr=127.0.0.1:0", "--admin-addr=off")
	db := studiotest.OpenSQL(t, "sqlite:"+path) // as a copy without the write-ahead log that has all tables
	try(db.ExecContext(t.Context(), "PRAGMA user_version = 1"))(t)
	fails(t, exitUsage, "no tables", "user", "add", "--db=sqlite:"+path, testEmail)
	fails(t, exitUsage, "no tables", "serve", "--db=sqlite:"+path, "--addr=127.0.0.1:0", "--admin-addr=off")
	try(db.ExecContext(t.Context(), "CREATE TABLE other (id INTEGER)"))(t)
	check(t, errors.Join(os.Remove(file), db.Close()))
	fails(t, exitUsage, "another program", "serve", "--db=sqlite:"+path, "--addr=127.0.0.1:0", "--admin-addr=off")
	fails(t, exitUsage, "another program", "user", "list", "--db=sqlite:"+path)
}

// Requests to a damaged database get 503 with Retry-After, and the log has the cause.
func TestProcess_damagedDatabaseIs503(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	prepareDatabase(t, dsn)
	path := strings.TrimPrefix(dsn, "sqlite:")
	info := try(os.Stat(path))(t)
	p := startProcess(t, dsn)
	home := from(t, net.IPv4(127, 0, 0, 1))
	token := login(t, p.URL, testEmail).AccessToken
	file := try(os.OpenFile(path, os.O_WRONLY, 0))(t)
	const page = 4096
	_, err := file.WriteAt(bytes.Repeat([]byte{0xff}, int(info.Size())-page), page)
	check(t, errors.Join(err, file.Close()))
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if answer := call(t, home, method, p.URL, token); answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
			t.Errorf("%s of a damaged database is answered %s", method, answer.Status)
		}
	}
	check(t, p.AwaitLog("malformed"))
	check(t, p.Kill())
}

// With a low limit on open files, excess clients are refused or get 503. Afterwards the daemon works as
// before.
func TestProcess_survivesLowFileLimit(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	prepareDatabase(t, dsn)
	p := startProcessBy(t, append([]string{"sh", "-c", `ulimit -n 64 && exec "$0" "$@"`}, thisProgram(t)...), dsn)
	token := login(t, p.URL, testEmail).AccessToken
	var calling sync.WaitGroup
	var answered atomic.Int64
	for i := range 200 {
		calling.Go(func() {
			method := []string{http.MethodGet, http.MethodPost}[i%2]
			answer, err := send(t.Context(), from(t, net.IPv4(127, 0, 0, 1)), method, p.URL, token) // uses a new connection
			switch {
			case err != nil: // refused
			case answer.StatusCode == http.StatusOK:
				answered.Add(1)
			case answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "":
				t.Errorf("%s is answered %s", method, answer.Status)
			}
		})
	}
	calling.Wait()
	if answered.Load() == 0 {
		t.Error("nobody is answered")
	}
	check(t, p.AwaitLog("ended to make room"))
	after := from(t, net.IPv4(127, 0, 0, 1))
	harness.Eventually(t, "a creation afterwards", func() bool {
		answer, err := send(t.Context(), after, http.MethodPost, p.URL, token)
		return err == nil && answer.StatusCode == http.StatusOK
	})
	check(t, p.Stop())
}
