package store_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

var historyScale = flag.Int("history.scale", 1, "factor for the rows of a user's history, which are 20,000")

// history is the statements that give Ada, a user, an avatar with videos and as many lip-syncs, and rows in all other
// tables with rows of users. Each subject has an event: half of them wait for their delivery, and the others are
// exhausted.
var history = []string{
	`INSERT INTO users (id, email, password_hash, created_at) VALUES ('ada', 'ada', 'hash', 0), ('bob', 'bob', '', 0), ('eve', 'eve', '', 0)`,
	`UPDATE users SET role = 'operator' WHERE id IN ('ada', 'eve')`,
	`INSERT INTO workspaces (id, name, created_at) SELECT 'w' || n, '', n FROM numbers WHERE n <= few`,
	`INSERT INTO members (workspace_id, user_id) SELECT 'w' || n, 'ada' FROM numbers WHERE n <= few`,
	`INSERT INTO subjects (id, kind, user_id, request, webhook_url, origin, status, consent, failure_reason, created_at, updated_at,
		sequence, render_tries) VALUES ('a', 'avatar', 'ada', '{}', '', '', 'published', '', '', 0, 0, 0, 0)`,
	`INSERT INTO subjects (id, kind, user_id, avatar_id, request, webhook_url, origin, status, consent, failure_reason, created_at, updated_at,
		sequence, render_tries) SELECT 's' || n, CASE WHEN n % 2 = 0 THEN 'video' ELSE 'lipsync' END, 'ada', CASE WHEN n % 2 = 0 THEN 'a' END,
		'{}', 'https://hooks.example.com/' || (n % 3), 'https://hooks.example.com', 'processing', '', '', n / 3, 0, 1, 0 FROM numbers`,
	`INSERT INTO events (id, user_id, kind, subject_id, sequence, body, state, created_at, ended_at, reason)
		SELECT 'e' || n, 'ada', CASE WHEN n % 2 = 0 THEN 'video' ELSE 'lipsync' END, 's' || n, 1, CAST('{}' AS BYTEA),
			CASE WHEN n % 4 < 2 THEN 'pending' ELSE 'exhausted' END, n, CASE WHEN n % 4 >= 2 THEN n END, CASE WHEN n % 4 < 2 THEN '' ELSE 'schedule' END FROM numbers`,
	`INSERT INTO deliveries (subject_id, user_id, origin, url, sequence, due_at)
		SELECT 's' || n, 'ada', 'https://hooks.example.com', 'https://hooks.example.com/' || (n % 3), 1, n FROM numbers WHERE n % 4 < 2`,
	`INSERT INTO renderings (subject_id, user_id, due_at) SELECT 's' || n, 'ada', n FROM numbers WHERE n <= few`,
	`INSERT INTO uploads (id, user_id, key, content_type, size, created_at, expires_at) SELECT 'u' || n, 'ada', 'uploads/' || n, '', 1, n, 4102444800000000 FROM numbers WHERE n <= few`,
	`INSERT INTO upload_uses (subject_id, upload_id) SELECT 's' || n, 'u' || n FROM numbers WHERE n <= few`,
	`INSERT INTO refresh_tokens (hash, family, user_id, expires_at, used) SELECT CAST('t' || n AS BYTEA), 'f', 'ada', 4102444800000000, CASE WHEN n > 1 THEN 1 ELSE 0 END FROM numbers WHERE n <= few`,
	`INSERT INTO known_addresses (user_id, address, seen_at) SELECT 'ada', 'a' || n, n FROM numbers WHERE n <= 500`,
	`INSERT INTO api_keys (id, user_id, name, hash, read_only, workspace_id, created_at) SELECT 'k' || n, 'ada', '', CAST('k' || n AS BYTEA), 0, '', n FROM numbers WHERE n <= few`,
	`INSERT INTO webhook_secrets (user_id, secret, expires_at) SELECT 'ada', '', 4102444800000000 FROM numbers WHERE n <= few`,
	`INSERT INTO endpoints (user_id, url, origin, subject_id, used_at, disabled_at, reason) SELECT 'ada', 'https://example.com/' || n, '', 's' || n, n, n, 'gone' FROM numbers WHERE n <= few`,
	`INSERT INTO alerts (user_id, url, sent_at) SELECT 'ada', 'https://example.com/' || n, n FROM numbers WHERE n <= few`,
	`INSERT INTO pauses (user_id, url, by_user, paused_at) SELECT 'ada', 'https://example.com/' || n, TRUE, n FROM numbers WHERE n <= few`,
	`INSERT INTO replays (id, user_id, selection, events, requested_at) SELECT 'r' || n, 'ada', '{}', 0, n FROM numbers WHERE n <= few`,
	`INSERT INTO links (hash, purpose, email, operator, made_by, expires_at) SELECT CAST('l' || n AS BYTEA), '', '', 0, 'ada', 4102444800000000 FROM numbers WHERE n <= 100`,
}

// seed gives Ada a history of that many subjects, with an event each.
func seed(t *testing.T, dsn string, subjects int) {
	t.Helper()
	db := studiotest.OpenSQL(t, dsn)
	for _, statement := range append(history, "ANALYZE") {
		statement = strings.ReplaceAll(statement, "few", fmt.Sprint(max(subjects/20, store.BatchRows+1)))
		statement = strings.Replace(statement, "INSERT", fmt.Sprintf("WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < %d) INSERT", subjects), 1)
		if strings.HasPrefix(dsn, "sqlite:") {
			statement = strings.ReplaceAll(statement, "AS BYTEA", "AS BLOB")
		}
		try(db.ExecContext(t.Context(), statement))(t)
	}
}

// littleMemory returns the DSN of connections with less memory (work_mem) than the IDs of all rows need, as of a larger
// history.
func littleMemory(dsn string) string {
	address, err := url.Parse(dsn)
	if err != nil || address.Scheme == "sqlite" {
		return dsn
	}
	query := address.Query()
	query.Set("work_mem", "256kB")
	address.RawQuery = query.Encode()
	return address.String()
}

// interruptedStore ends the context of the work that it does after some batches.
type interruptedStore struct {
	*store.Store

	batches *int
	end     context.CancelFunc
}

func (s interruptedStore) NextBatch(ctx context.Context, id string, now time.Time) (studio.Erased, error) {
	if *s.batches--; *s.batches == 0 {
		s.end()
	}
	return s.Store.NextBatch(ctx, id, now)
}

// What concerns all rows of a user, an avatar or the service writes them in batches, so that it neither exceeds the
// time of an answer of PostgreSQL nor makes others wait for the only writer of SQLite. Another process finishes what
// one has begun.
func TestStore_writesAHistoryInBatches(t *testing.T) {
	t.Parallel()
	subjects := 10_000 * *historyScale // and as many events
	if testing.Short() {
		subjects = 3000
	}
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		seed(t, dsn, subjects)
		db, ctx, now := studiotest.Open(t, dsn), t.Context(), noon()
		db.CountRows(func(query string, rows int64) {
			if rows > store.BatchRows {
				t.Errorf("%d rows: %s", rows, query)
			}
		})
		service := func(db studio.Store, now time.Time) *studio.Service {
			return studio.New(studiotest.Config(db, func() time.Time { return now }))
		}

		others := studiotest.Open(t, dsn)
		var made atomic.Int64
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() { // another user's creations
			defer close(stopped)
			for i := 0; ; i++ {
				began := time.Now()
				s := subject(fmt.Sprint("bob-", i), 1)
				s.UserID = "bob"
				if _, err := others.CreateSubject(ctx, s, studio.IdempotencyKey{}); err != nil {
					t.Error(err)
				}
				if waited := time.Since(began); waited > 5*time.Second {
					t.Errorf("a creation of another user took %v", waited)
				}
				made.Add(1)
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
			}
		}()
		defer func() { close(stop); <-stopped }()

		const endpoint = "https://hooks.example.com/0"
		checked := studiotest.Open(t, littleMemory(dsn))
		exhausted := exhausted(studio.EventFilter{UserID: "ada"})
		for _, operation := range []func() error{
			func() error { _, err := checked.Check(ctx); return err },
			func() error { return db.ShiftDue(ctx, -time.Second) },
			func() error { return service(db, now).FinishTasks(ctx) },
			func() error { return db.PauseEndpoint(ctx, "ada", endpoint, now) },
			func() error { return db.EnableEndpoint(ctx, "ada", endpoint) },
			func() error { _, err := db.Pause(ctx, now); return err },
			func() error {
				n, err := db.AddReplay(ctx, "r", exhausted, studio.IdempotencyKey{}, now, 10)
				if int(n) != subjects/2 {
					t.Errorf("%d events are replayed", n)
				}
				return err
			},
			func() error { _, err := db.ReplayNext(ctx, now); return err },
			func() error { return db.Resume(ctx) },
			func() error { return service(db, now).EndSessionOf(ctx, "ada", "f") },
			func() error { return db.RevokeTokens(ctx, "ada", now) },
			func() error { return db.SeeAddress(ctx, "ada", "new", now) },
			func() error { return db.SetPassword(ctx, "ada", "", "new", studio.RefreshToken{}, now) },
			func() error { return db.SetDisabled(ctx, "ada", now, now) },
			func() error { return db.SetDisabled(ctx, "ada", time.Time{}, now) },
			func() error { return db.SetRole(ctx, "ada", studio.NoRole) },
			func() error {
				before := made.Load()
				interrupted, end := context.WithCancel(ctx)
				defer end()
				wantError(t, service(interruptedStore{db, new(2), end}, now).Delete(interrupted, "ada", studio.Avatar, "a"), context.Canceled)
				err := error(studio.ErrBusy) // a slow machine may take longer than a deletion
				for errors.Is(err, studio.ErrBusy) {
					err = service(db, now).Delete(ctx, "ada", studio.Avatar, "a") // goes on
				}
				if n := made.Load() - before; n < 5 && !testing.Short() { // one or none if the lock is taken again at once
					t.Errorf("another process made %d creations during the deletion", n)
				}
				return err
			},
			func() error { return db.Prune(ctx, now.Add(time.Hour)) },
		} {
			check(t, operation())
		}
		if left := db.Texts(t, `SELECT CAST(COUNT(*) AS TEXT) FROM subjects WHERE avatar_id = 'a' AND deleted_at IS NULL`); left[0] != "0" {
			t.Errorf("%s videos of the deleted avatar", left[0])
		}
		interrupted, end := context.WithCancel(ctx)
		defer end()
		check(t, db.RemoveUser(ctx, "ada", now))
		wantError(t, service(interruptedStore{db, new(3), end}, now.Add(time.Minute)).FinishTasks(interrupted), context.Canceled)
		_, err := db.UserByEmail(ctx, "ada")
		wantError(t, err, studio.ErrNotFound)
		const left = `SELECT id FROM subjects WHERE user_id = 'ada' AND deleted_at IS NULL LIMIT 1`
		next := studiotest.Open(t, dsn)
		check(t, service(next, now).FinishTasks(ctx)) // the first one may still be working
		if len(db.Texts(t, left)) == 0 {
			t.Error("the erasure was not interrupted")
		}
		check(t, service(next, now.Add(time.Minute)).FinishTasks(ctx))
		if left := rowsOfAda(t, db); len(left) > 0 {
			t.Errorf("the deletion of a user leaves %v", left)
		}
	})
}
