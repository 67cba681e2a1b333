package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// Of each write, the answer to each of its requests is lost in turn: the database has executed the request, and the
// connection breaks. Then the caller calls again. The rows are those of one call. On SQLite, which has no connection, a
// write fails after its commit. The rows of another user stay as they are. The short form loses only the first answer
// of each write on PostgreSQL, which shows the statements, and none on SQLite.
func TestStore_repeatsWritesWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	requests := 100
	if testing.Short() {
		requests = 1
	}
	for name, create := range studiotest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, requests := create(t), requests
			var mu sync.Mutex   // the proxy has goroutines of its own
			n, lost := 0, false // requests until an answer is lost; 0 for none
			var seen []string
			count := func(queries ...string) bool {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, queries...)
				n--
				lost = lost || n == 0
				return n == 0
			}
			loseAfter := func(requests int) (wasLost bool) {
				mu.Lock()
				defer mu.Unlock()
				wasLost, n, lost = lost, requests, false
				return wasLost
			}
			keys := keyring.New()
			open := func(dsn string) *store.Store {
				db := try(store.Open(t.Context(), dsn, store.Config{Keys: keys}))(t)
				t.Cleanup(func() { check(t, db.Close()) })
				return db
			}
			direct := open(dsn)
			db, shared := direct, direct.Shared()
			if shared {
				proxy := studiotest.NewProxy(t, dsn)
				proxy.LoseAnswers(func(queries []string) bool { return count(queries...) })
				db = open(proxy.DSN)
			} else {
				if testing.Short() {
					requests = 0
				}
				db.LoseAnswers(func() bool { return count() })
			}
			query := rowsQuery(t, direct)
			addBystander(lostCall{t, direct, direct, bystander})
			others := direct.Texts(t, query, bystander)
			for _, w := range writes {
				if w.only != "" && w.only != name {
					continue
				}
				var want string
				for i := range requests + 1 {
					run := fmt.Sprintf("(%s-%d)", w.name, i)
					call := w.prepare(lostCall{t, db, direct, run})
					loseAfter(i)
					err := call()
					lost := loseAfter(0)
					if i > 0 && !lost {
						break
					}
					if lost && err != nil {
						for err = call(); errors.Is(err, studio.ErrKeyInUse); { // until the server notices the end of the connection
							err = call()
						}
						if errors.Is(err, w.again) {
							err = nil
						}
					}
					if err != nil {
						t.Errorf("%s, without the answer to request %d: %v", w.name, i, err)
					}
					if changes := cmp.Diff(others, direct.Texts(t, query, bystander)); changes != "" {
						t.Fatalf("%s changes rows of another user (-want +got):\n%s", w.name, changes)
					}
					rows := direct.Texts(t, query, run)
					got := strings.ReplaceAll(strings.Join(rows, "\n"), run, "RUN")
					if i == 0 {
						want = got
					} else if got != want && (shared || !w.counts) {
						t.Errorf("%s, without the answer to request %d, writes (-want +got):\n%s", w.name, i, cmp.Diff(want, got))
					}
				}
			}
			if shared {
				mu.Lock()
				defer mu.Unlock()
				wantAllSeen(t, seen)
			}
		})
	}
}

// wantAllSeen checks that all statements of the package that write are among those that were executed.
func wantAllSeen(t *testing.T, executed []string) {
	t.Helper()
	all := strings.Join(strings.Fields(strings.Join(executed, " ")), " ")
	statements := writesInSource(t)
	for _, s := range statements {
		if !strings.Contains(all, s) {
			t.Errorf("no case executes the statement %q", s)
		}
	}
	if len(statements) < 90 {
		t.Errorf("the package has %d statements that write", len(statements))
	}
}

// writing matches the beginning of a statement that writes, up to its first parameter. A row of a rowStatement is one.
// ofTable matches the call of a function that returns such a statement of a table.
var (
	literal   = regexp.MustCompile("`[^`]*`")
	writing   = regexp.MustCompile(`\b(INSERT INTO|UPDATE|DELETE FROM)\s+[a-z]\w*[^$` + "`" + `]*`)
	parameter = regexp.MustCompile(`\br\.|\bFROM r\b`)
	ofTable   = regexp.MustCompile(`\b(insertInto|newForgetKeys)\("(\w+)"`)
)

// writesInSource returns how the statements of the package begin that write. Those of sqlite.go and backup.go run
// before a database is used.
func writesInSource(t *testing.T) (all []string) {
	t.Helper()
	paths := try(filepath.Glob("*.go"))(t)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || path == "sqlite.go" || path == "backup.go" {
			continue
		}
		source := try(os.ReadFile(path))(t)
		for _, text := range literal.FindAllString(string(source), -1) {
			for _, found := range writing.FindAllString(text, -1) {
				if i := parameter.FindStringIndex(found); i != nil {
					found = found[:i[0]]
				}
				all = append(all, strings.Join(strings.Fields(found), " "))
			}
		}
		for _, call := range ofTable.FindAllStringSubmatch(string(source), -1) {
			verb := map[string]string{"insertInto": "INSERT INTO ", "newForgetKeys": "UPDATE "}[call[1]]
			all = append(all, verb+call[2])
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// volatile are the columns that differ between calls: random values, times of the database, and what does not contain
// the name of the run.
var volatile = []string{"seen_at", "leased_until", "key_hash", "secret", "key", "webhook_secrets.id"}

// rowsQuery returns a query of the rows of all tables, each as a text, that are like a parameter.
func rowsQuery(t *testing.T, db *store.Store) string {
	t.Helper()
	columns := `SELECT m.name || ' ' || p.name || ' ' || p.type FROM sqlite_master m JOIN pragma_table_info(m.name) p WHERE m.type = 'table'`
	if db.Shared() {
		columns = `SELECT table_name || ' ' || column_name || ' ' || udt_name FROM information_schema.columns WHERE table_schema = current_schema()`
	}
	lines := make(map[string]string) // by table
	for _, column := range db.Texts(t, columns+` ORDER BY 1`) {
		words := strings.Split(column, " ")
		table, name, kind := words[0], words[1], words[2]
		value := `"` + name + `"`
		switch {
		case slices.Contains(volatile, name) || slices.Contains(volatile, table+"."+name):
			value += " IS NOT NULL"
		case name == "due_at" || name == "turn_at": // some are relative to the clock of the database
			value = "(" + value + " + 30000000) / 60000000"
		case kind == "bytea":
			value = "encode(" + value + ", 'escape')"
		}
		lines[table] += fmt.Sprintf(" || ' %s=' || COALESCE(CAST(%s AS TEXT), 'NULL')", name, value)
	}
	var all []string
	for table, line := range lines {
		all = append(all, fmt.Sprintf("SELECT '%s'%s AS line FROM %[1]s", table, line))
	}
	return `SELECT line FROM (` + strings.Join(all, " UNION ALL ") + `) AS lines WHERE line LIKE '%' || $1 || '%' ORDER BY 1`
}

// lostWrite is a write of the store.
type lostWrite struct {
	name    string
	prepare func(c lostCall) (call func() error) // writes what the call needs
	again   error                                // of the second call, if it cannot be the same as the first one
	counts  bool                                 // two calls count twice on SQLite
	only    string                               // the database
}

// lostCall is a call whose answer may be lost. All its names and IDs contain run.
type lostCall struct {
	*testing.T
	*store.Store

	direct *store.Store // whose connections live on, unlike those through the proxy
	run    string
}

// directly returns the call for what prepares another one, which takes half the time on connections that live on.
func (c lostCall) directly() lostCall { return lostCall{c.T, c.direct, c.direct, c.run} }

// ready returns a prepare function for a call that needs a user, a workspace with the user, and an avatar with two
// events. All have the ID run.
func ready(call func(c lostCall) error) func(lostCall) func() error {
	return func(lost lostCall) func() error {
		c := lost.directly()
		for _, table := range []string{"renderings", "replays", "deliveries", "events", "subjects"} {
			c.Exec(c, `DELETE FROM `+table+` WHERE user_id <> '`+bystander+`'`)
		}
		check(c, c.CreateUser(c.Context(), studio.User{ID: c.run, Email: c.run, CreatedAt: noon()}))
		check(c, c.CreateWorkspace(c.Context(), studio.Workspace{ID: c.run, Name: "Films", CreatedAt: noon()}))
		check(c, c.AddMember(c.Context(), c.run, c.run))
		create(c.T, c.Store, avatarOf(c.run, c.run))
		return func() error { return call(lost) }
	}
}

// bystander is the user whose rows no write changes.
const bystander = "bystander"

// addBystander adds rows of the bystander to every table with rows of users.
func addBystander(c lostCall) {
	add := ready(func(c lostCall) error {
		s := avatarOf(c.run, c.run+"a")
		s.Request = []byte(`{"base_video_url":"/uploads/` + uuid.Nil.String() + `/file"}`)
		check(c, c.AddUpload(c.Context(), studio.Upload{ID: uuid.Nil.String(), UserID: c.run, CreatedAt: noon(), ExpiresAt: noon().Add(time.Hour)}, 9))
		create(c.T, c.Store, s)
		for _, add := range []func(lostCall) error{
			addToken, countLogin, addAPIKey, addUpload, importProject, addLink, claimRendering, failForDays, claimAlert, saveBreaker, setKey, seeDaemon,
			exhaust, addReplay, replayNext, pause,
		} {
			check(c, add(c))
		}
		check(c, createKeyed(c, "k"))
		check(c, c.AddLink(c.Context(), studio.Link{Hash: []byte("reset " + c.run), Purpose: studio.ResetLink, Email: c.run, By: c.run, ExpiresAt: noon()}))
		check(c, c.SeeAddress(c.Context(), c.run, "192.0.2.1", noon()))
		check(c, c.AddWebhookSecret(c.Context(), c.run, "secret", noon(), noon(), 9))
		c.Exec(c, `UPDATE renderings SET due_at = due_at + 1000000 WHERE user_id = '`+c.run+`'`) // others would claim them
		return recordFirst(c, store.Outcome{State: studio.EventPending, RetryAt: noon()})
	})
	check(c, add(c)())
}

// avatarOf returns an avatar with two events.
func avatarOf(run, id string) studio.Subject {
	s := subject(id, 2)
	s.UserID = run
	return s
}

// after returns a prepare function like ready, for a call that follows another one.
func after(first, call func(c lostCall) error) func(lostCall) func() error {
	return func(lost lostCall) func() error {
		check(lost, ready(first)(lost.directly())())
		return func() error { return call(lost) }
	}
}
