package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
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
			s, err := db.Subject(t.Context(), fmt.Sprint(i))
			check(t, err)
			if changed := s.Status == studio.Failed; changed != (i%5 == 0) {
				t.Errorf("the %d. subject is %s", i, s.Status)
			}
		}
	})
}

func TestSQLite_ChangedElsewhere_seesWritesOfOtherProcesses(t *testing.T) {
	t.Parallel()
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "studio.db")
	db, other := studiotest.Open(t, dsn), studiotest.Open(t, dsn)
	want := func(want bool, after string) {
		t.Helper()
		changed, err := db.ChangedElsewhere(t.Context())
		check(t, err)
		if changed != want {
			t.Errorf("changed after %s: %v", after, changed)
		}
	}
	_, err := db.ChangedElsewhere(t.Context())
	check(t, err)
	want(false, "nothing")
	check(t, db.CreateUser(t.Context(), studio.User{ID: "ada", Email: "ada@example.com", CreatedAt: noon()}))
	want(false, "an own write")
	check(t, other.CreateUser(t.Context(), studio.User{ID: "bob", Email: "bob@example.com", CreatedAt: noon()}))
	want(true, "a write of another")
	want(false, "nothing more")
}

// The migration sets the origins of subjects that were created before the column.
func TestSQLite_migratesOrigins(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "studio.db")
	db := studiotest.Open(t, "sqlite:"+path)
	check(t, db.CreateUser(t.Context(), studio.User{ID: "ada", Email: "ada@example.com", CreatedAt: noon()}))
	urls := []string{
		"", "https://hooks.example.com", "https://hooks.example.com/a?b=c", "https://hooks.example.com?a=/b", "https://hooks.example.com#a",
		"https://Hooks.example.com:443/a", "http://hooks.example.com:80/a", "http://hooks.example.com:8080/a", "https://[2001:db8::1]:8443/a",
	}
	for i, url := range urls {
		s := subject(fmt.Sprint(i), 1)
		s.WebhookURL = url
		create(t, db, s)
	}
	raw, err := sql.Open("sqlite", "file:"+path)
	check(t, err)
	defer func() { check(t, raw.Close()) }()
	for _, query := range []string{
		`DROP INDEX subjects_line`, `DROP TABLE breakers`,
		`CREATE INDEX subjects_deliver ON subjects (deliver_at)`, `ALTER TABLE subjects DROP COLUMN origin`, `DROP INDEX events_created`, `DROP INDEX events_exhausted`,
		`ALTER TABLE events DROP COLUMN reason`, `DROP TABLE endpoints`, `ALTER TABLE events DROP COLUMN due_at`,
		`DROP INDEX subjects_deleted`, `DROP INDEX subjects_newest`, `DROP INDEX subjects_videos`, `DROP INDEX idempotency_keys_subject`,
		`ALTER TABLE subjects DROP COLUMN deleted_at`, `DROP INDEX uploads_user`, `DROP TABLE uploads`, `ALTER TABLE subjects DROP COLUMN progress`, `ALTER TABLE subjects DROP COLUMN rendering`,
		`DROP INDEX subjects_render_user`, `DROP INDEX subjects_render_by`, `DROP INDEX users_render_turn`, `ALTER TABLE subjects DROP COLUMN render_by`,
		`ALTER TABLE subjects DROP COLUMN render_until`, `ALTER TABLE users DROP COLUMN render_turn`,
		`DROP TABLE known_addresses`, `DROP TABLE revocations`, `ALTER TABLE users DROP COLUMN deleted_at`,
		`DROP INDEX events_user`, `ALTER TABLE events DROP COLUMN user_id`, `DROP INDEX subjects_receiver`,
		`DROP INDEX members_user`, `ALTER TABLE users DROP COLUMN role`, `ALTER TABLE subjects DROP COLUMN request_id`, `ALTER TABLE subjects DROP COLUMN trace_parent`,
		`DROP INDEX refresh_tokens_sessions`, `DROP TABLE compatibility`, `DROP TABLE pauses`,
		`DELETE FROM goose_db_version WHERE version_id >= 2`,
	} {
		_, err := raw.ExecContext(t.Context(), query)
		check(t, err)
	}
	migrated := studiotest.Open(t, "sqlite:"+path)
	for i, url := range urls {
		next, err := migrated.NextDelivery(t.Context(), fmt.Sprint(i))
		check(t, err)
		if next.Origin != studio.Origin(url) {
			t.Errorf("the origin of %q is %q, want %q", url, next.Origin, studio.Origin(url))
		}
	}
}
