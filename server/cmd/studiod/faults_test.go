package main

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// If the file is not a database or is damaged, the start fails with one line that explains why.
func TestServe_rejectsUnusableFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		check(t, os.WriteFile(path, content, 0o600))
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	check(t, syscall.Mkfifo(pipe, 0o600))
	whole := filepath.Join(dir, "whole.db")
	prepareDatabase(t, "sqlite:"+whole)
	damaged, err := os.ReadFile(whole)
	check(t, err)
	copy(damaged[100:], bytes.Repeat([]byte{0xff}, 4000)) // the schema in the first page
	emptied := write("emptied.db", nil)
	check(t, keyring.New().Create(filepath.Join(dir, "emptied.keys")))
	for name, test := range map[string]struct {
		path string
		code int
	}{
		"a named pipe":       {pipe, exitUsage},
		"a directory":        {dir, exitUsage},
		"a text":             {write("text", []byte("This is no database.")), exitUsage},
		"zeros":              {write("zeros", make([]byte, 8192)), exitUsage},
		"a damaged database": {write("damaged", damaged), exitFailure},
		"a device":           {"/dev/null", exitUsage},
		"an emptied one":     {emptied, exitFailure},
	} {
		t.Log(name)
		fails(t, test.code, test.path, "serve", "--addr=127.0.0.1:0", "--db=sqlite:"+test.path)
	}
	if info, err := os.Stat(emptied); err != nil || info.Size() > 0 {
		t.Errorf("the emptied database was changed: %v", err)
	}
	empty := "--db=sqlite:" + write("empty", nil)
	must(t, testPassword+"\n", "user", "add", empty, testEmail)
}

// A database that was deleted beside its key file is not created again.
func TestDatabase_isNotCreatedBesideAKeyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, file := filepath.Join(dir, "deleted.db"), filepath.Join(dir, "deleted.keys")
	check(t, keyring.New().Create(file))
	says := fails(t, exitFailure, path, "user", "add", "--db=sqlite:"+path, testEmail)
	if !strings.Contains(says, file) || exists(path) {
		t.Errorf("%q, exists %v", says, exists(path))
	}
}

// The start removes the permissions of other users from the database file, and logs that once.
func TestServe_makesDatabasePrivate(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	path := strings.TrimPrefix(dsn, "sqlite:")
	check(t, os.WriteFile(path, nil, 0o600))
	check(t, os.Chmod(path, 0o644))
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.Database = dsn; cfg.Media = "file:" + t.TempDir() })
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(file)
		check(t, err)
		if info.Mode()&0o007 != 0 {
			t.Errorf("%s has the mode %v", file, info.Mode())
		}
	}
	if n := strings.Count(d.log.String(), "had access to the database"); n != 1 {
		t.Errorf("the log warns %d times", n)
	}
}

// Requests to a damaged database get 503 with Retry-After, and the log has the cause. When the file is
// replaced, the daemon exits, and the next one serves.
func TestProcess_damagedDatabaseIs503(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	prepareDatabase(t, dsn)
	path := strings.TrimPrefix(dsn, "sqlite:")
	whole, err := os.ReadFile(path)
	check(t, err)
	p := startProcess(t, dsn)
	home := from(t, net.IPv4(127, 0, 0, 1))
	token := login(t, p.URL, testEmail).AccessToken
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	check(t, err)
	const page = 4096
	_, err = file.WriteAt(bytes.Repeat([]byte{0xff}, len(whole)-page), page)
	check(t, err)
	check(t, file.Close())
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if answer := call(t, home, method, p.URL, token); answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
			t.Errorf("%s of a damaged database is answered %s", method, answer.Status)
		}
	}
	check(t, p.AwaitLog("malformed"))
	check(t, os.WriteFile(path+".restored", whole, 0o600))
	check(t, os.Rename(path+".restored", path))
	p.awaitEnd("the database file was deleted or replaced")
	for _, log := range []string{"-wal", "-shm"} { // belongs to the damaged file
		check(t, os.RemoveAll(path+log))
	}
	p = startProcess(t, dsn)
	if status := listStatus(t, p.URL, login(t, p.URL, testEmail).AccessToken); status != http.StatusOK {
		t.Errorf("after it was restored, a list is answered %d", status)
	}
	check(t, p.Stop())
}

// A daemon exits when its database is emptied, as it does when the file is deleted.
func TestProcess_exitsWhenDatabaseIsEmptied(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	prepareDatabase(t, dsn)
	p := startProcess(t, dsn)
	check(t, os.Truncate(strings.TrimPrefix(dsn, "sqlite:"), 0))
	p.awaitEnd("the database file was deleted or replaced")
}

// awaitEnd waits until a process exits by itself, and checks that its log has the error.
func (p *process) awaitEnd(says string) {
	p.t.Helper()
	if err := p.Wait(); err == nil || !strings.Contains(p.Log(), says) {
		p.t.Errorf("the daemon ends with %v and does not say %q", err, says)
	}
}

// With a low limit on open files, excess clients are refused or get 503. Afterwards the daemon works as
// before.
func TestProcess_survivesLowFileLimit(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
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
	})
}
