package store_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// Whoever deletes the lock file does not let another daemon start, on Linux.
func TestSQLite_allowsOneDaemon(t *testing.T) {
	t.Parallel()
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "studio.db")
	daemon := try(store.Open(t.Context(), dsn, store.Config{Exclusive: true}))(t)
	_, err := store.Open(t.Context(), dsn, store.Config{Exclusive: true})
	wantError(t, err, store.ErrInUse)
	if runtime.GOOS == "linux" { // elsewhere, all locks concern those of SQLite
		check(t, os.Remove(strings.TrimPrefix(dsn, "sqlite:")+".lock"))
		_, err = store.Open(t.Context(), dsn, store.Config{Exclusive: true})
		wantError(t, err, store.ErrInUse)
	}
	command := studiotest.Open(t, dsn) // a command may use the database at the same time
	check(t, command.CreateUser(t.Context(), user("ada")))
	if _, err := daemon.UserByEmail(t.Context(), "ada@example.com"); err != nil {
		t.Errorf("the daemon does not see what the command did: %v", err)
	}
	check(t, daemon.Close())
	next := try(store.Open(t.Context(), dsn, store.Config{Exclusive: true}))(t)
	check(t, next.Close())
}

// Without these pragmas an acknowledged write can be lost, and concurrent writers fail.
func TestSQLite_everyConnectionHasThePragmas(t *testing.T) {
	t.Parallel()
	db := studiotest.Open(t, studiotest.NewSQLite(t))
	for name, queryOnly := range map[string]string{"writer": "0", "readers": "1"} {
		for pragma, value := range map[string]string{
			"journal_mode": "wal", "synchronous": "2", "busy_timeout": "5000", "foreign_keys": "1", "query_only": queryOnly,
		} {
			for _, got := range db.Pragma(t, name, pragma) {
				if got != value {
					t.Errorf("%s of the %s is %s, want %s", pragma, name, got, value)
				}
			}
		}
	}
	if n := len(db.Pragma(t, "writer", "synchronous")); n != 1 {
		t.Errorf("%d connections write, want 1", n)
	}
}

func TestSQLite_acceptsAnyFileName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"100%.db", "%41.db", "sub/dir/é a?b#c&d=e.db"} {
		path := filepath.Join(t.TempDir(), name)
		db := try(store.Open(t.Context(), "sqlite:"+path, store.Config{}))(t)
		check(t, db.CreateUser(t.Context(), user("ada")))
		check(t, db.Close())
		info, err := os.Stat(path)
		if err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSQLite_rejectsOtherFiles(t *testing.T) {
	t.Parallel()
	text, pipe := filepath.Join(t.TempDir(), "text.db"), filepath.Join(t.TempDir(), "pipe.db")
	check(t, syscall.Mkfifo(pipe, 0o600)) // opening it would block
	check(t, os.WriteFile(text, []byte("this is not a database, it is a text of more than a hundred bytes, and it must stay as it is whatever happens"), 0o600))
	for _, dsn := range []string{
		"", "sqlite:", "studio.db", "mysql://localhost/studio", "sqlite:" + text, "sqlite:" + t.TempDir(), "sqlite:/dev/null/studio.db", "sqlite:" + pipe,
	} {
		if db, err := store.Open(t.Context(), dsn, store.Config{}); err == nil {
			t.Errorf("%q is taken for a database", dsn)
			check(t, db.Close())
		}
	}
	kept, err := os.ReadFile(text)
	if err != nil || string(kept[:22]) != "this is not a database" {
		t.Errorf("a file that is no database was changed (%v)", err)
	}
}

// Frequent changes of few rows do not fill a small disk with the log, although little space is left. Nor do they end at
// a limit of the size of files, which SQLite reports like a quota.
func TestSQLite_itsLogFillsNoSmallDisk(t *testing.T) {
	t.Parallel()
	const limited = "STUDIO_TEST_LIMITED"
	dir, others := t.TempDir(), 0
	if os.Getenv(limited) == "" {
		process := exec.CommandContext(t.Context(), "prlimit", "--fsize=2000000", os.Args[0], "-test.run=^"+t.Name()+"$")
		process.Env = append(os.Environ(), limited+"=1")
		if output, err := process.CombinedOutput(); err != nil && !errors.Is(err, exec.ErrNotFound) { // only Linux has it
			t.Errorf("with a limit: %v: %s", err, output)
		}
		dir, others = studiotest.SmallDisk(t), studiotest.SmallDiskSize*3/4
	}
	dsn, ada := "sqlite:"+filepath.Join(dir, "studio.db"), user("ada")
	ada.PasswordHash = strings.Repeat("x", 20_000)
	db := studiotest.Open(t, dsn)
	check(t, db.CreateUser(t.Context(), ada))
	check(t, db.Close()) // so that the file need not grow
	check(t, os.WriteFile(filepath.Join(dir, "others"), make([]byte, others), 0o600))
	db = studiotest.Open(t, dsn)
	for i := range 300 { // 6 MB of log
		check(t, db.SetPassword(t.Context(), "ada", "", strings.Repeat(string(rune('a'+i%2)), 20_000), studio.RefreshToken{}, noon()))
	}
}

// A claim does not wait for the disk. All other changes do, also those in a group with claims.
func TestSQLite_onlyClaimsAreNotSynced(t *testing.T) {
	t.Parallel()
	db := studiotest.Open(t, studiotest.NewSQLite(t))
	addDue(t, db, map[string]int{"one": 1})
	db.Exec(t, "CREATE TABLE levels (level INTEGER)")
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { try(db.RenewRenderings(t.Context(), "p", nil))(t) })
		all.Go(func() { db.Exec(t, "INSERT INTO levels SELECT synchronous FROM pragma_synchronous") })
	}
	all.Wait()
	if levels := db.Texts(t, "SELECT DISTINCT CAST(level AS TEXT) FROM levels"); !slices.Equal(levels, []string{"2"}) {
		t.Errorf("the changes have the levels %v", levels)
	}
	claim(t, db)
	if level := db.Pragma(t, "writer", "synchronous"); level[0] != "1" {
		t.Errorf("a claim has the level %s", level)
	}
}
