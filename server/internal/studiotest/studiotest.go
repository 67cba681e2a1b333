// Package studiotest gives tests a domain on a real database of their own.
package studiotest

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/api/standardwebhooks"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// databases lists, by name, functions that make a new database for a test and return its DSN.
// What must hold for one must hold for each; see [EachDatabase].
var databases = map[string]func(t testing.TB) (dsn string){
	"SQLite":     NewSQLite,
	"PostgreSQL": NewPostgres,
}

// EachDSN runs a test on every kind of database, which is not open.
func EachDSN(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	for name, create := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, create(t))
		})
	}
}

// EachDatabase runs a test on every kind of database.
func EachDatabase(t *testing.T, test func(t *testing.T, db *store.Store)) {
	t.Helper()
	EachDSN(t, func(t *testing.T, dsn string) { test(t, Open(t, dsn)) })
}

// Databases is what [EachDSN] ranges over, for benchmarks and for tests that take turns.
func Databases() map[string]func(t testing.TB) (dsn string) { return maps.Clone(databases) }

// NewSQLite names a new file that is removed after the test.
func NewSQLite(t testing.TB) (dsn string) {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "studio.db")
}

// Open opens a database that is closed after the test.
func Open(t testing.TB, dsn string) *store.Store {
	t.Helper()
	db, err := store.Open(context.Background(), dsn, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// Clock is a time that only moves when it is told to.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts at noon of a day in 2026.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 1, 12, 12, 0, 0, 0, time.UTC)} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Add moves the time.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Config is a configuration in which every webhook is taken but https://refused.example/, consent
// waits for a decision, and passwords cost nothing.
func Config(db *store.Store, now func() time.Time) studio.Config {
	return studio.Config{
		Store:            db,
		Passwords:        passwords{},
		IssueAccessToken: func(userID string, _ time.Time) (string, error) { return "access:" + userID, nil },
		CheckWebhook: func(url string) (canonical string, refusal *studio.InvalidError) {
			if strings.HasPrefix(url, "https://refused.example/") {
				return "", &studio.InvalidError{Code: "webhook_url_not_public", Detail: "must not be refused"}
			}
			if !strings.HasPrefix(url, "http") {
				return "", &studio.InvalidError{Code: "webhook_url_invalid", Detail: "must be http"}
			}
			return url, nil
		},
		SendWebhook: func(_ context.Context, url string, _ studio.Event, secrets []string) studio.WebhookAttempt {
			return studio.WebhookAttempt{Delivered: url != "https://down.example/" && len(secrets) > 0, Status: 204, Duration: time.Second}
		},
		Media:     NewMedia(),
		CursorKey: []byte("cursors"),
		NewID:     func() string { return uuid.Must(uuid.NewV7()).String() },
		NewSecret: func() string { return standardwebhooks.NewSecret().Reveal() },
		Now:       now,
	}
}

// AddUser adds a user with the password "password".
func AddUser(t testing.TB, service *studio.Service, email string) studio.User {
	t.Helper()
	user, err := service.AddUser(t.Context(), "", email, "password")
	if err != nil {
		t.Fatal(err)
	}
	return user
}

type passwords struct{}

func (passwords) Hash(_ context.Context, password string) (string, error) {
	return "hash of " + password, nil
}

func (passwords) Compare(_ context.Context, password, hash string) (bool, error) {
	return hash == "hash of "+password, nil
}
