package store_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

func TestSQLite_allowsOneDaemon(t *testing.T) {
	t.Parallel()
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "studio.db")
	daemon, err := store.Open(t.Context(), dsn, store.Config{Daemon: true})
	check(t, err)
	_, err = store.Open(t.Context(), dsn, store.Config{Daemon: true})
	wantError(t, err, store.ErrInUse)
	command := studiotest.Open(t, dsn) // a command may use the database at the same time
	check(t, command.CreateUser(t.Context(), user("ada")))
	if _, err := daemon.UserByEmail(t.Context(), "ada@example.com"); err != nil {
		t.Errorf("the daemon does not see what the command did: %v", err)
	}
	check(t, daemon.Close())
	next, err := store.Open(t.Context(), dsn, store.Config{Daemon: true})
	check(t, err)
	check(t, next.Close())
}

// Without these pragmas an acknowledged write can be lost, and concurrent writers fail.
func TestSQLite_everyConnectionHasThePragmas(t *testing.T) {
	t.Parallel()
	db := studiotest.Open(t, studiotest.NewSQLite(t))
	for name, want := range map[string]map[string]string{
		"writer":  {"journal_mode": "wal", "synchronous": "2", "busy_timeout": "5000", "foreign_keys": "1", "query_only": "0"},
		"readers": {"journal_mode": "wal", "synchronous": "2", "busy_timeout": "5000", "foreign_keys": "1", "query_only": "1"},
	} {
		for pragma, value := range want {
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

func TestSQLite_returnsErrBusyOnALock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "studio.db")
	db := studiotest.Open(t, "sqlite:"+path)
	db.SetBusyTimeout(t, 50*time.Millisecond)
	other, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	check(t, err)
	defer func() { check(t, other.Close()) }()
	tx, err := other.BeginTx(t.Context(), nil)
	check(t, err)
	err = db.CreateUser(t.Context(), user("ada"))
	wantError(t, err, studio.ErrBusy)
	check(t, tx.Rollback())
}

func TestSQLite_acceptsAnyFileName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with space.db", "what?.db", "100%.db", "a#b.db", "a&b=c.db", "é.db", "%41.db", "sub/dir/a.db"} {
		path := filepath.Join(t.TempDir(), name)
		db, err := store.Open(t.Context(), "sqlite:"+path, store.Config{})
		check(t, err)
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
