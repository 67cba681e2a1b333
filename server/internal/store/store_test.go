package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func noon() time.Time { return studiotest.NewClock().Now() }

var (
	check     = harness.Check
	wantError = harness.WantError
)

func try[T any](result T, err error) func(t testing.TB) T { return harness.Try(result, err) }

// errorOf returns the error of a call whose result the test does not need.
func errorOf(_ any, err error) error { return err }

func user(id string) studio.User {
	return studio.User{ID: id, Email: id + "@example.com", CreatedAt: noon()}
}

// withUser runs a test on each database, with a user named ada.
func withUser(t *testing.T, test func(t *testing.T, db *store.Store)) {
	t.Helper()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		check(t, db.CreateUser(t.Context(), user("ada")))
		test(t, db)
	})
}

// newPostgres opens a PostgreSQL database with a user named ada.
func newPostgres(t *testing.T) (db *store.Store, dsn string) {
	t.Helper()
	dsn = studiotest.NewPostgres(t)
	db = studiotest.Open(t, dsn)
	check(t, db.CreateUser(t.Context(), user("ada")))
	return db, dsn
}

// withUserInEachStore runs a test like withUser, and on a store in memory, too.
func withUserInEachStore(t *testing.T, test func(t *testing.T, db studio.Store)) {
	t.Helper()
	studiotest.EachStore(t, func(t *testing.T, db studio.Store) {
		check(t, db.CreateUser(t.Context(), user("ada")))
		test(t, db)
	})
}

// subject returns an avatar of ada with some events.
func subject(id string, events int) studio.Subject {
	s := studio.Subject{
		ID: id, Kind: studio.Avatar, UserID: "ada", Title: new("Ada"), Request: []byte(`{"title":"Ada"}`),
		WebhookURL: "https://hooks.example.com/", Status: studio.Processing, CreatedAt: noon(), UpdatedAt: noon(),
		RenderAt: noon(), Sequence: int64(events),
	}
	for i := range events {
		s.Events = append(s.Events, studio.Event{
			ID: fmt.Sprintf("%s-%d", id, i+1), SubjectID: id, Sequence: int64(i + 1), Body: fmt.Appendf(nil, `{"event":%d}`, i+1),
			CreatedAt: noon(),
		})
	}
	return s
}

func TestOpen_concurrentlyCreatesOneDatabase(t *testing.T) {
	t.Parallel()
	for name, create := range map[string]func(testing.TB) string{
		"SQLite": studiotest.NewEmptySQLite, "PostgreSQL": studiotest.NewEmptyPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := create(t)
			concurrently(repeat(4, func(int) {
				db, err := store.Open(t.Context(), dsn, store.Config{})
				if err == nil {
					err = db.Close()
				}
				if err != nil {
					t.Error(err)
				}
			})...)
		})
	}
}

// A program of the previous version works on the tables that the next version has migrated, as in a rolling update.
// An older program is refused, and so is one whose next version does not say which programs can use its tables.
func TestOpen_ofAnEarlierVersion(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		open := func(cfg store.Config) (db *store.Store, log string, err error) {
			var lines bytes.Buffer
			cfg.Logger = slog.New(slog.NewTextHandler(&lines, nil))
			if db, err = store.Open(t.Context(), dsn, cfg); err == nil {
				t.Cleanup(func() { check(t, db.Close()) })
			}
			return db, lines.String(), err
		}
		previous, _, err := open(store.Config{})
		check(t, err)
		check(t, previous.CreateUser(t.Context(), user("ada")))
		next := store.Config{}.WithMigration(`ALTER TABLE subjects ADD COLUMN next TEXT NOT NULL DEFAULT 'new';
			ALTER TABLE events ADD COLUMN next TEXT NOT NULL DEFAULT 'new'; UPDATE compatibility SET oldest = version, version = 9999;`)
		for _, migrates := range []bool{true, false} {
			db, log, err := open(next)
			check(t, err)
			check(t, db.Ready(t.Context()))
			if strings.Contains(log, "the database is migrated") != migrates || strings.Contains(log, "to=9999") != migrates {
				t.Errorf("the log of the next version is %q", log)
			}
		}
		restarted, log, err := open(store.Config{})
		check(t, err)
		if !strings.Contains(log, "level=WARN") {
			t.Errorf("the log of the previous version is %q", log)
		}
		if copied := filepath.Join(t.TempDir(), "copy.db"); !restarted.Shared() {
			check(t, errors.Join(restarted.Backup(t.Context(), copied), store.Restore(t.Context(), copied, "sqlite:"+copied+".new")))
		}
		for i, db := range []*store.Store{previous, restarted} {
			check(t, db.Ready(t.Context()))
			s := subject(fmt.Sprint(i), 1)
			create(t, db, s)
			check(t, recordAttempt(t.Context(), db, s.Events[0], studio.Attempt{At: noon()}, store.Outcome{State: studio.EventDelivered}))
		}
		raw := studiotest.OpenSQL(t, dsn)
		for _, change := range []string{`oldest = 9999`, `oldest = 1, version = 9998`} {
			try(raw.ExecContext(t.Context(), `UPDATE compatibility SET `+change))(t)
			_, _, err = open(store.Config{})
			wantError(t, err, store.ErrNewer)
		}
	})
}

// Without this, the programs of the previous version stop as soon as a rolling update begins.
func TestMigrations_sayWhichProgramsCanUseTheTables(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		db := try(store.Open(t.Context(), dsn, store.Config{}))(t)
		check(t, db.Close())
		var newest, says, oldest int64
		check(t, studiotest.OpenSQL(t, dsn).QueryRowContext(t.Context(),
			`SELECT (SELECT MAX(version_id) FROM goose_db_version), version, oldest FROM compatibility`).Scan(&newest, &says, &oldest))
		if says != newest || oldest < 1 || oldest > newest {
			t.Errorf("the last file in server/internal/store/migrations is %d and sets compatibility to version %d and oldest %d: "+
				"it needs UPDATE compatibility SET version = %[1]d, oldest = the first version whose programs can use the tables", newest, says, oldest)
		}
	})
}

func TestOpen_returnsErrBusyOnlyIfTheDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	damaged := filepath.Join(t.TempDir(), "studio.db")
	check(t, os.WriteFile(damaged, append([]byte("SQLite format 3\x00"), make([]byte, 4096)...), 0o600))
	for dsn, busy := range map[string]bool{
		"postgres://ada@127.0.0.1:1/studio?sslmode=disable": true,
		"postgres://ada@db.invalid/studio":                  true,
		"postgres://ada@127.0.0.1:port/studio":              false,
		"sqlite:" + damaged:                                 true,
		"sqlite:/dev/null/studio.db":                        false,
	} {
		db, err := store.Open(t.Context(), dsn, store.Config{})
		if err == nil {
			check(t, db.Close())
		}
		if err == nil || errors.Is(err, studio.ErrBusy) != busy {
			t.Errorf("%s: error is %v, want ErrBusy: %v", dsn, err, busy)
		}
	}
}

func TestStore_Record_makesTheNextEventDueInOrder(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		create(t, db, subject("a", 2))
		record := func(number int, state studio.EventState, retryAt time.Time) {
			t.Helper()
			next := nextDelivery(t, db, "a")
			if next.Tries != number-1 {
				t.Errorf("event %s has had %d tries, want %d", next.Event.ID, next.Tries, number-1)
			}
			check(t, recordAttempt(t.Context(), db, next.Event, studio.Attempt{
				At: noon(), Duration: time.Second, Address: "192.0.2.1:443", Status: 500, Failure: "status", Excerpt: []byte("no"),
			}, store.Outcome{State: state, RetryAt: retryAt}))
		}
		due := func(want ...string) {
			t.Helper()
			all := db.NextDue(t, store.DeliverAt)
			var got []string
			for _, due := range all {
				next := nextDelivery(t, db, due.SubjectID)
				got = append(got, next.Event.ID+" in "+due.At.Sub(noon()).String())
			}
			if !slices.Equal(got, want) {
				t.Errorf("due is %v, want %v", got, want)
			}
		}
		due("a-1 in 0s")
		record(1, studio.EventPending, noon().Add(time.Hour))
		due("a-1 in 1h0m0s")
		try(db.UpdateSubject(t.Context(), "a", func(s *studio.Subject) error { event(s); return nil }))(t)
		due("a-1 in 1h0m0s")
		record(2, studio.EventDelivered, time.Time{})
		due("a-2 in 1s")
		record(1, studio.EventExhausted, time.Time{})
		due("a-3 in 1s")
		record(1, studio.EventDelivered, time.Time{})
		due()

		attempts := attemptsOf(t, db, "a-1")
		if len(attempts) != 2 || attempts[1].Number != 2 || attempts[0].Duration != time.Second || string(attempts[0].Excerpt) != "no" {
			t.Errorf("attempts are %+v", attempts)
		}
	})
}

func TestStore_Key_isCreatedOnce(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		keys := make([]string, 10)
		concurrently(repeat(len(keys), func(i int) {
			key, err := db.Key(t.Context(), "tokens", func() []byte { return fmt.Append(nil, "key ", i) })
			if err != nil {
				t.Error(err)
			}
			keys[i] = string(key)
		})...)
		if slices.Sort(keys); keys[0] != keys[9] || keys[0] == "" {
			t.Errorf("keys are %v", slices.Compact(keys))
		}
	})
}

// Each row is deleted as soon as its time is over, and not before.
func TestStore_Prune_keepsEachRowForItsTime(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		const day = 24 * time.Hour
		for _, test := range []struct {
			table, columns, values string
			kept                   time.Duration // after noon
		}{
			{"uploads", `id, user_id, key, content_type, size, created_at, expires_at`, `'u', 'ada', '', '', 1, 1, NOON`, 0},
			{"replays", `id, user_id, selection, events, requested_at`, `'r', 'ada', '{}', 1, NOON`, day},
			{"refresh_tokens", `hash, family, user_id, expires_at`, `CAST('h' AS BYTES), 'f', 'ada', NOON`, 0},
			{"webhook_secrets", `user_id, secret, expires_at`, `'ada', '', NOON`, 0},
			{"login_tries", `account, tries, began_at`, `'a', 1, NOON`, studio.LoginMemory},
			{"known_addresses", `user_id, address, seen_at`, `'ada', '', NOON`, studio.AddressMemory},
			{"revocations", `id, revoked_at`, `'f', NOON`, day},
			{"links", `hash, purpose, email, operator, made_by, expires_at`, `CAST('h' AS BYTES), '', '', 0, '', NOON`, 0},
			{"acts", `id, at, done_by, action, target`, `'a', NOON, '', '', ''`, 365 * day},
			{"alerts", `user_id, url, sent_at`, `'ada', '', NOON`, 2 * day},
			{"alerts", `user_id, url, sent_at, retry_at`, `'ada', '', 0, NOON`, 2 * day},
			{"daemons", `id, host, version, started_at, seen_at`, `'d', '', '', 1, NOON`, day},
			{"breakers", `origin, until, pause`, `'o', NOON, 1`, day}, // in case the next attempt is due then
		} {
			values := strings.NewReplacer("NOON", fmt.Sprint(noon().UnixMicro()), "BYTES", bytesType(db)).Replace(test.values)
			db.Exec(t, `INSERT INTO `+test.table+` (`+test.columns+`) VALUES (`+values+`)`)
			for after, want := range []int{1, 0} {
				check(t, db.Prune(t.Context(), noon().Add(test.kept+time.Duration(after)*time.Second)))
				if rows := db.Texts(t, `SELECT 'row' FROM `+test.table); len(rows) != want {
					t.Errorf("%s: %d rows after %v and %d s", test.table, len(rows), test.kept, after)
				}
			}
		}
	})
}

func TestStore_Prune_keepsWhatIsPending(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		const end, month = 48 * time.Hour, 30 * 24 * time.Hour // for so long after its end, an event can be replayed
		key := studio.IdempotencyKey{Key: "key", Fingerprint: []byte("a"), After: noon().Add(-time.Hour)}
		try(db.CreateSubject(t.Context(), subject("a", 2), key))(t)
		try(db.AddReplay(t.Context(), "unfinished", exhausted(studio.EventFilter{UserID: "ada"}), studio.IdempotencyKey{Key: "replay"}, noon(), 1))(t)
		check(t, recordAttempt(t.Context(), db, nextDelivery(t, db, "a").Event, studio.Attempt{At: noon().Add(end)}, store.Outcome{State: studio.EventDelivered}))
		check(t, db.Prune(t.Context(), noon().Add(59*time.Minute)))
		_, err := db.CreateSubject(t.Context(), subject("b", 0), studio.IdempotencyKey{Key: "key", Fingerprint: []byte("b"), After: key.After})
		wantError(t, err, studio.ErrKeyReused) // keys are valid for a day
		attempts := func() int { return len(attemptsOf(t, db, "a-1")) }
		check(t, db.Prune(t.Context(), noon().Add(end+month)))
		if attempts() != 1 {
			t.Error("an event is pruned before its retention is over")
		}
		check(t, db.Prune(t.Context(), noon().Add(end+month+time.Second)))
		if attempts() != 0 {
			t.Error("an event is kept after its retention is over")
		}
		check(t, db.Prune(t.Context(), noon().Add(-month))) // the clock was ahead when the next event became due
		next, err := db.NextDelivery(t.Context(), "a")
		if err != nil || next.Event.ID != "a-2" || !next.DueAt.Equal(noon().Add(-month)) {
			t.Errorf("a pending event is pruned, or due at %v (%v)", next.DueAt, err)
		}
		_, err = db.AddReplay(t.Context(), "another", exhausted(studio.EventFilter{UserID: "ada"}), studio.IdempotencyKey{Key: "other"}, noon(), 1)
		wantError(t, err, studio.ErrTooManyReplays) // the first one is not finished
	})
}

// recordAttempt is [store.Store.SaveAttempt] without a lease holder.
func recordAttempt(
	ctx context.Context, db *store.Store, event studio.Event, attempt studio.Attempt, outcome store.Outcome,
) error {
	return errorOf(db.SaveAttempt(ctx, "", store.MadeAttempt{Event: event, Attempt: attempt, Outcome: outcome}))
}
