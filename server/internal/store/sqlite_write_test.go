package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A change that fails in a group commit does not affect the other changes. It fails by its own error, a
// duplicate key, a canceled context or a panic.
func TestStore_write_failsAloneInAGroup(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		stop := errors.New("stop")
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		create(t, db, subject("again", 1))
		var group sync.WaitGroup
		for i := range 100 {
			id := fmt.Sprint(i)
			create(t, db, subject(id, 0))
			ctx, end := t.Context(), error(nil)
			switch i % 5 {
			case 1:
				end = stop
			case 2:
				ctx, end = ended, context.Canceled
			case 3:
				end = studio.ErrExists
			}
			group.Go(func() {
				defer func() {
					if panicked := recover(); (panicked != nil) != (i%5 == 4) {
						t.Errorf("the %d. change panics: %v", i, panicked)
					}
				}()
				_, err := db.UpdateSubject(ctx, id, func(s *studio.Subject) error {
					s.Status = studio.Failed
					switch i % 5 {
					case 1:
						return end
					case 3:
						s.Events = subject("again", 1).Events
					case 4:
						panic("a mistake")
					}
					return nil
				})
				if !errors.Is(err, end) {
					t.Errorf("the %d. change ends with %v, want %v", i, err, end)
				}
			})
		}
		group.Wait()
		for i := range 100 {
			s := try(db.Subject(t.Context(), fmt.Sprint(i)))(t)
			if changed := s.Status == studio.Failed; changed != (i%5 == 0) {
				t.Errorf("the %d. subject is %s", i, s.Status)
			}
		}
	})
}

// A statement that fails after it has changed rows leaves none of them changed, alone and in a group.
func TestStore_write_undoesAStatementThatFailsHalfway(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		for i := range 10 {
			create(t, db, subject(fmt.Sprint(i), 1))
		}
		halfway := func() {
			for _, statement := range []string{
				`UPDATE subjects SET title = 'lost', consent = CASE WHEN id = '9' THEN NULL ELSE consent END`,
				`UPDATE subjects AS s SET title = 'lost', consent = CASE WHEN id = '9' THEN NULL ELSE consent END`,
				`WITH one AS (SELECT 1)UPDATE subjects SET title = 'lost', consent = CASE WHEN id = '9' THEN NULL ELSE consent END`,
				`INSERT INTO subjects (id, title, kind) SELECT 'copy ' || id, 'lost', CASE WHEN id <> '9' THEN kind END FROM subjects`,
			} {
				if db.TryExec(t.Context(), statement) == nil {
					t.Errorf("%s succeeds", statement)
				}
			}
		}
		halfway()
		var group sync.WaitGroup
		for i := range 10 {
			group.Go(halfway)
			group.Go(func() { db.Exec(t, fmt.Sprintf(`UPDATE subjects SET stage = 'kept' WHERE id = '%d'`, i)) })
		}
		group.Wait()
		if wrong := db.Texts(t, `SELECT id FROM subjects WHERE title = 'lost' OR stage <> 'kept'`); len(wrong) > 0 {
			t.Errorf("these subjects have other changes than their own: %v", wrong)
		}
	})
}

func TestSQLite_ChangedElsewhere_seesWritesOfOtherProcesses(t *testing.T) {
	t.Parallel()
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "studio.db")
	db, other := studiotest.Open(t, dsn), studiotest.Open(t, dsn)
	want := func(want bool, after string) {
		t.Helper()
		changed := try(db.ChangedElsewhere(t.Context()))(t)
		if changed != want {
			t.Errorf("changed after %s: %v", after, changed)
		}
	}
	try(db.ChangedElsewhere(t.Context()))(t)
	want(false, "nothing")
	check(t, db.CreateUser(t.Context(), user("ada")))
	want(false, "an own write")
	check(t, other.CreateUser(t.Context(), studio.User{ID: "bob", Email: "bob@example.com", CreatedAt: noon()}))
	want(true, "a write of another")
	want(false, "nothing more")
}
