package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// pendingEvents returns the IDs of the pending events.
func pendingEvents(t *testing.T, db *store.Store) (ids []string) {
	t.Helper()
	for _, e := range studiotest.Events(t, db, studio.EventFilter{State: studio.EventPending}) {
		ids = append(ids, e.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestBackup_restoresEveryRow(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	dsn, backup := "sqlite:"+filepath.Join(directory, "studio.db"), filepath.Join(directory, "backup.db")
	db := try(store.Open(t.Context(), dsn, store.Config{Exclusive: true}))(t)
	check(t, db.CreateUser(t.Context(), user("ada")))
	for i := range 5 {
		create(t, db, subject(fmt.Sprintf("before-%d", i), 2))
	}
	want := pendingEvents(t, db)
	command := studiotest.Open(t, dsn) // as a command does while a daemon runs
	check(t, command.Backup(t.Context(), backup))
	create(t, db, subject("after", 2))
	check(t, db.Close())

	if info := try(os.Stat(backup))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the backup is %v", info.Mode())
	}
	restored := "sqlite:" + filepath.Join(directory, "elsewhere", "studio.db")
	check(t, store.Restore(t.Context(), backup, restored))
	again := try(store.Open(t.Context(), restored, store.Config{Exclusive: true, MustExist: true}))(t)
	if got := pendingEvents(t, again); len(got) != 10 || !slices.Equal(got, want) {
		t.Errorf("%v are pending after the restore, want %v", got, want)
	}
	wantConsistent(t, again)
	check(t, again.Close())
	if left := try(filepath.Glob(filepath.Join(directory, "*", "*.partial")))(t); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

// A backup during writes contains each transaction completely or not at all.
func TestBackup_isASnapshotDuringWrites(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	db := studiotest.Open(t, "sqlite:"+filepath.Join(directory, "studio.db"))
	check(t, db.CreateUser(t.Context(), user("ada")))
	done := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			if _, err := db.CreateSubject(t.Context(), subject(fmt.Sprintf("s-%d", i), 3), studio.IdempotencyKey{}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range 5 {
		backup := filepath.Join(directory, fmt.Sprintf("backup-%d.db", i))
		check(t, db.Backup(t.Context(), backup))
		restored := fmt.Sprintf("sqlite:%s-restored", backup)
		check(t, store.Restore(t.Context(), backup, restored))
		wantConsistent(t, studiotest.Open(t, restored))
	}
	close(done)
	writing.Wait()
}

func TestRestore_rejectsUnusableBackups(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	whole := filepath.Join(directory, "whole.db")
	db := studiotest.Open(t, "sqlite:"+filepath.Join(directory, "studio.db"))
	check(t, errors.Join(db.CreateUser(t.Context(), user("ada")), db.Backup(t.Context(), whole)))
	content := try(os.ReadFile(whole))(t)
	file := func(name string, content []byte) string {
		path := filepath.Join(directory, name)
		check(t, os.WriteFile(path, content, 0o600))
		return path
	}
	pipe, link := filepath.Join(directory, "pipe"), file("used.db-wal", content)+".link"
	check(t, errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink(file("used.db", content), link)))
	later := studiotest.OpenSQL(t, "sqlite:"+file("newer.db", content))
	try(later.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)`))(t)
	check(t, later.Close())
	for name, test := range map[string]struct {
		backup string
		err    error
	}{
		"text":                      {file("text", []byte("this is a text and no database")), store.ErrNoDatabase},
		"nothing":                   {file("empty", nil), store.ErrDamaged},
		"half of a backup":          {file("half", content[:len(content)/2]), store.ErrDamaged},
		"a page of zeros":           {file("torn", slices.Concat(content[:4096], make([]byte, 4096), content[8192:])), store.ErrDamaged},
		"a database with a log":     {link, store.ErrDamaged},
		"a pipe":                    {pipe, store.ErrNoDatabase},
		"what a later version made": {filepath.Join(directory, "newer.db"), store.ErrNewer},
		"no file":                   {filepath.Join(directory, "missing"), fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "studio.db")
			wantError(t, store.Restore(t.Context(), test.backup, "sqlite:"+path), test.err)
			if _, err := os.Stat(path); err == nil {
				t.Error("a database was created")
			}
		})
	}
	// Nor is one replaced, or what is left of one. A backup replaces nothing either.
	taken := file("important", []byte("important"))
	wantError(t, db.Backup(t.Context(), taken), fs.ErrExist)
	if content, _ := os.ReadFile(taken); string(content) != "important" {
		t.Errorf("the file holds %q", content)
	}
	wantError(t, store.Restore(t.Context(), whole, "sqlite:"+file("taken.db", content)), fs.ErrExist)
	file("gone.db-wal", []byte("the log of a database that was deleted"))
	wantError(t, store.Restore(t.Context(), whole, "sqlite:"+filepath.Join(directory, "gone.db")), fs.ErrExist)
}
