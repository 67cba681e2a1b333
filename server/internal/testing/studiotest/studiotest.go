// Package studiotest provides tests with real databases, object stores and services that end with the test.
package studiotest

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/api/passwords"
	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/render/simulate"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// databases maps the names of the supported databases to functions that create a new one for a test and
// return its DSN. Tests must pass on each of them; see [EachDatabase].
var databases = map[string]func(t testing.TB) (dsn string){
	"SQLite":     NewSQLite,
	"PostgreSQL": NewPostgres,
}

// EachDSN runs a test in parallel on a new database of each kind. The database is not open.
func EachDSN(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	for name, create := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, create(t))
		})
	}
}

// EachDatabase runs a test in parallel on a new, open database of each kind.
func EachDatabase(t *testing.T, test func(t *testing.T, db *store.Store)) {
	t.Helper()
	EachDSN(t, func(t *testing.T, dsn string) { test(t, Open(t, dsn)) })
}

// EachStore runs a test in parallel on a new store in memory and as [EachDatabase] does.
func EachStore(t *testing.T, test func(t *testing.T, db studio.Store)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, memstore.New())
	})
	EachDatabase(t, func(t *testing.T, db *store.Store) { test(t, db) })
}

// Databases returns the functions that [EachDSN] calls, for benchmarks and for tests that must not run in
// parallel.
func Databases() map[string]func(t testing.TB) (dsn string) { return maps.Clone(databases) }

// templateSQLite returns the content of a migrated SQLite file. Writing a copy takes a tenth of the time of
// running the migrations.
var templateSQLite = sync.OnceValues(func() (file []byte, err error) {
	directory, err := os.MkdirTemp("", "studiotest")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	path := filepath.Join(directory, "studio.db")
	db, err := store.Open(context.Background(), "sqlite:"+path, store.Config{})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// NewSQLite returns the DSN of a new, migrated SQLite file that is removed after the test.
func NewSQLite(t testing.TB) (dsn string) {
	t.Helper()
	dsn = NewEmptySQLite(t)
	file := harness.Try(templateSQLite())(t)
	harness.Check(t, os.WriteFile(strings.TrimPrefix(dsn, "sqlite:"), file, 0o600))
	return dsn
}

// NewEmptySQLite returns the DSN of a SQLite file that does not exist and is removed after the test. It is in memory if
// possible, because each commit waits for a disk.
func NewEmptySQLite(t testing.TB) (dsn string) {
	t.Helper()
	directory, err := newDirectory(memoryDirectory())
	harness.Check(t, err)
	t.Cleanup(func() { harness.Check(t, os.RemoveAll(directory)) })
	return "sqlite:" + filepath.Join(directory, "studio.db")
}

// Open opens a database and closes it after the test.
func Open(t testing.TB, dsn string) *store.Store {
	t.Helper()
	db := harness.Try(store.Open(context.Background(), dsn, store.Config{}))(t)
	t.Cleanup(func() { harness.Check(t, db.Close()) })
	return db
}

// Events returns all events that a filter selects, oldest first.
func Events(t testing.TB, db studio.EventStore, filter studio.EventFilter) (all []studio.EventRecord) {
	t.Helper()
	var last studio.Position
	for more := true; more; {
		var page []studio.EventRecord
		var err error
		page, more, err = db.Events(t.Context(), filter, studio.OldestFirst, last, 1000)
		harness.Check(t, err)
		for _, event := range page {
			last = studio.Position{CreatedAt: event.CreatedAt, ID: event.ID}
		}
		all = append(all, page...)
	}
	return all
}

// FinishTasks finishes the tasks that are due at now, as the jobs of a daemon do.
func FinishTasks(t testing.TB, db studio.Store, now time.Time) {
	t.Helper()
	harness.Check(t, studio.New(studio.Config{Store: db, Now: func() time.Time { return now }}).FinishTasks(context.Background()))
}

// DeleteUser removes a user and erases the records, as a daemon does if the process that removed the user has ended.
func DeleteUser(ctx context.Context, service *studio.Service, email string) error {
	user, err := service.UserByEmail(ctx, email)
	if err == nil {
		err = service.Store.(studio.DatabaseStore).RemoveUser(ctx, user.ID, service.Now().Add(-time.Minute))
	}
	return errors.Join(err, service.FinishTasks(ctx))
}

// FinishReplays works all replays off, as the jobs of a daemon do. The events are due at now.
func FinishReplays(t testing.TB, db *store.Store, now time.Time) {
	t.Helper()
	for {
		next := harness.Try(db.ReplayNext(context.Background(), now))(t)
		if next.IsZero() || next.After(now) {
			return
		}
	}
}

// Clock is a clock that moves only when Add is called. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a Clock that is set to noon of 12 January 2026, UTC.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 1, 12, 12, 0, 0, 0, time.UTC)} }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Add moves the clock forward.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Config returns a configuration for tests. Its webhooks are [Webhooks], consent stays pending until it is decided, and
// passwords are not really hashed.
func Config(db studio.Store, now func() time.Time) studio.Config {
	cfg := studio.Config{Store: db, Passwords: plainPasswords{}, Webhooks: Webhooks{}, Now: now}
	cfg.IssueAccessToken = func(token studio.AccessToken) (string, error) { return "access:" + token.UserID, nil }
	cfg.Voices = simulate.Voices
	cfg.PublicURL, cfg.DataPlaneID = "https://studio.example.com", "01936f3e-5b00-7a1b-8c22-0d4d9f8e7b60"
	cfg.Media, cfg.Key = memstore.NewMedia("https://media.example.com/"), []byte("cursors")
	return cfg
}

// Webhooks accepts http and https URLs except those at https://refused.example/ and those with U+0000, and delivers to
// all but https://down.example/.
type Webhooks struct{}

// CanonicalURL returns an accepted URL as it is.
func (Webhooks) CanonicalURL(url string) (string, error) {
	if strings.HasPrefix(url, "https://refused.example/") {
		return "", &sender.RefusedError{Reason: "must not be refused", NotPublic: true}
	}
	if !strings.HasPrefix(url, "http") || strings.ContainsRune(url, 0) {
		return "", &sender.RefusedError{Reason: "must be http"}
	}
	return url, nil
}

// Send delivers a message that is signed.
func (Webhooks) Send(_ context.Context, message sender.Message) sender.Attempt {
	if message.URL == "https://down.example/" || len(message.Secrets) == 0 {
		return sender.Attempt{Failure: sender.FailureConnect, Duration: time.Second}
	}
	return sender.Attempt{Status: http.StatusNoContent, Duration: time.Second}
}

// AddUser adds a user with the password "password".
func AddUser(t testing.TB, service *studio.Service, email string) studio.User {
	t.Helper()
	return harness.Try(service.AddUser(t.Context(), "", email, "password"))(t)
}

// WeakPasswords is like passwords.Argon2id with argon2id in 64 KiB instead of 19 MiB, for tests of programs that check
// such hashes. A hash includes its parameters, so comparing it is fast, too.
type WeakPasswords struct{ passwords.Argon2id }

// Hash returns a salted hash.
func (WeakPasswords) Hash(_ context.Context, password string) (hash string, err error) {
	return argon2id.CreateHash(password, &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
}

type plainPasswords struct{}

func (plainPasswords) Hash(_ context.Context, password string) (string, error) {
	return "hash of " + password, nil
}

func (plainPasswords) Compare(_ context.Context, password, hash string) (bool, error) {
	return hash == "hash of "+password, nil
}
