package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// connect opens a connection that is independent of the store.
func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	dsn = strings.Replace(dsn, "pool_max_conns=8&", "", 1)
	connection := try(pgx.Connect(t.Context(), dsn))(t)
	t.Cleanup(func() { _ = connection.Close(t.Context()) })
	return connection
}

// begin begins a transaction that is independent of the store, with some statements.
func begin(t *testing.T, dsn string, statements ...string) pgx.Tx {
	t.Helper()
	tx := try(connect(t, dsn).Begin(t.Context()))(t)
	for _, statement := range statements {
		try(tx.Exec(t.Context(), statement))(t)
	}
	return tx
}

// A code is about the state of the server, or about a statement. A server that refuses a connection is unavailable for
// any reason but that of a pooler.
func TestPostgres_isUnavailableByCode(t *testing.T) {
	t.Parallel()
	for codes, busy := range map[string][2]bool{ // of a statement, and of a refused connection
		"08006 28000 28P01 3D000 3F000 40001 40P01 53300 55000 55P03 57P01 58030 F0000 XX001 25P03 25P04 25006 42501 42P01": {true, true},
		"01000 22021 23503 23505 25001 42601": {false, true},
		"08P01":                               {false, false},
	} {
		for code := range strings.FieldsSeq(codes) {
			err := error(&pgconn.PgError{Code: code})
			if got := [2]bool{store.PostgresBusy(err), store.PostgresBusy(errors.Join(&pgconn.ConnectError{}, err))}; got != busy {
				t.Errorf("%s is unavailable: %v, want %v", code, got, busy)
			}
		}
	}
}

func TestPostgres_returnsErrBusyOnALockTimeout(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"&lock_timeout=500ms", "&statement_timeout=500ms"} {
		t.Run(limit[1:], func(t *testing.T) {
			t.Parallel()
			dsn := studiotest.NewPostgres(t)
			studiotest.Open(t, dsn)
			db := studiotest.Open(t, dsn+limit)
			tx := begin(t, dsn, `LOCK TABLE users IN ACCESS EXCLUSIVE MODE`)
			ada := user("ada")
			wantError(t, db.CreateUser(t.Context(), ada), studio.ErrBusy)
			_, err := db.UserByEmail(t.Context(), ada.Email)
			wantError(t, err, studio.ErrBusy)
			check(t, tx.Rollback(t.Context()))
			check(t, db.CreateUser(t.Context(), ada))
		})
	}
}

func TestPostgres_returnsErrBusyWithoutAFreeConnection(t *testing.T) {
	t.Parallel()
	dsn := strings.Replace(studiotest.NewPostgres(t), "pool_max_conns=8", "pool_max_conns=1", 1)
	synctest.Test(t, func(t *testing.T) {
		db := try(store.Open(t.Context(), dsn, store.Config{}))(t)
		check(t, db.CreateUser(t.Context(), user("ada")))
		create(t, db, subject("a", 0))
		_, err := db.UpdateSubject(t.Context(), "a", func(*studio.Subject) error {
			began := time.Now()
			_, read := db.Subject(t.Context(), "a")
			wantError(t, read, studio.ErrBusy)
			wantError(t, db.SetPassword(t.Context(), "ada", "", "new", studio.RefreshToken{}, noon()), studio.ErrBusy)
			if waited := time.Since(began); waited != 10*time.Second {
				t.Errorf("it took %v, want twice 5 s", waited)
			}
			return nil
		})
		check(t, err)
		check(t, db.Close())
	})
}

// A transaction that PostgreSQL aborts because of a deadlock is retried.
func TestPostgres_retriesAfterADeadlock(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewPostgres(t)
	db := studiotest.Open(t, dsn)
	check(t, db.CreateWorkspace(t.Context(), studio.Workspace{ID: "films", CreatedAt: noon()}))
	for round := 0; ; round++ {
		first, second := fmt.Sprint(round, "a"), fmt.Sprint(round, "b")
		const add = `INSERT INTO projects VALUES ('%s', 'films', 'ada', 0, 0, '{}')`
		tx := begin(t, dsn, fmt.Sprintf(add, second))
		imported := make(chan error, 1)
		go func() {
			_, err := db.ImportProjects(t.Context(), []studio.Project{{ID: first, WorkspaceID: "films"}, {ID: second, WorkspaceID: "films"}})
			imported <- err
		}()
		awaitLock(t, dsn, tx)
		_, besideEnded := tx.Exec(t.Context(), fmt.Sprintf(add, first))
		check(t, tx.Rollback(t.Context()))
		check(t, <-imported)
		if besideEnded == nil {
			return // PostgreSQL aborted the import
		}
	}
}

// An event that another process adds to a subject while its user or its avatar is deleted ends like the others.
func TestPostgres_Delete_endsAConcurrentEvent(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(db *store.Store) error{
		"user":   func(db *store.Store) error { return deleteUser(t, db, "ada", noon()) },
		"avatar": func(db *store.Store) error { return deleteSubject(t, db, studio.Avatar, "a", noon()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, dsn := newPostgres(t)
			create(t, db, subject("a", 1))
			create(t, db, video("v", "a"))
			tx := begin(t, dsn, `UPDATE subjects SET sequence = 2 WHERE id = 'v'`,
				`INSERT INTO events (id, user_id, kind, subject_id, sequence, body, state, created_at) VALUES ('v-2', 'ada', 'video', 'v', 2, '{}', 'pending', 0)`)
			deleted := make(chan error, 1)
			go func() { deleted <- remove(db) }()
			awaitLock(t, dsn, tx)
			check(t, tx.Commit(t.Context()))
			check(t, <-deleted)
			if pending := pendingEvents(t, db); len(pending) > 0 {
				t.Errorf("%v are pending", pending)
			}
		})
	}
}

// awaitLock waits until another transaction waits for a lock that holder has.
func awaitLock(t *testing.T, dsn string, holder pgx.Tx) {
	t.Helper()
	connection := connect(t, dsn)
	for waiting := 0; waiting == 0; {
		err := connection.QueryRow(t.Context(), `SELECT COUNT(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))`,
			holder.Conn().PgConn().PID()).Scan(&waiting)
		check(t, err)
	}
}

// A creation returns ErrKeyInUse while that of another process with the same key runs. Afterwards it returns the
// subject that the other one created.
func TestPostgres_CreateSubject_returnsErrKeyInUseDuringAnotherCreation(t *testing.T) {
	t.Parallel()
	db, dsn := newPostgres(t)
	create := func(db *store.Store, id string) (studio.Subject, error) {
		key := studio.IdempotencyKey{Key: "key", Fingerprint: []byte("same"), After: noon().Add(-time.Hour)}
		return db.CreateSubject(t.Context(), subject(id, 1), key)
	}
	other := studiotest.Open(t, dsn)
	tx := begin(t, dsn, `LOCK TABLE subjects IN SHARE MODE`)
	twin := make(chan error, 1)
	go func() {
		_, err := create(other, "twin")
		twin <- err
	}()
	awaitLock(t, dsn, tx)
	_, err := create(db, "a")
	wantError(t, err, studio.ErrKeyInUse)
	check(t, tx.Rollback(t.Context()))
	check(t, <-twin)
	created := try(create(db, "a"))(t)
	if created.ID != "twin" {
		t.Errorf("the key created %s, want the subject of the other creation", created.ID)
	}
}

func TestPostgres_everyConnectionHasItsSettings(t *testing.T) {
	t.Parallel()
	const ofRole = "&options=-c%20client_encoding%3DLATIN1%20-c%20default_transaction_isolation%3Dserializable%20-c%20client_min_messages%3Derror"
	const settings = "lock_timeout statement_timeout idle_in_transaction_session_timeout client_encoding transaction_isolation client_min_messages"
	dsn := studiotest.NewPostgres(t)
	for dsn, want := range map[string]string{
		strings.Replace(dsn, "pool_max_conns=8&", "", 1) + ofRole:                            "5s 30s 2s UTF8 read committed warning 14",
		dsn + "&lock_timeout=1s&statement_timeout=2s&idle_in_transaction_session_timeout=3s": "1s 2s 3s UTF8 read committed warning 8",
	} {
		db, got := studiotest.Open(t, dsn), ""
		for setting := range strings.FieldsSeq(settings) {
			got += db.Setting(t, setting) + " "
		}
		if got += fmt.Sprint(db.MaxConnections()); got != want {
			t.Errorf("%s has the settings %s, want %s", settings, got, want)
		}
	}
}

func TestPostgres_Name_hidesThePassword(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewPostgres(t) + "&password=hunter2"
	if name := studiotest.Open(t, dsn).Name(); strings.Contains(name, "hunter2") || !strings.HasPrefix(name, "postgres://") {
		t.Errorf("the name is %s", name)
	}
	for _, dsn := range []string{
		"postgres://ada:hunter2@127.0.0.1:1/studio", "postgres://127.0.0.1:1/studio?user=ada&password=hunter2",
		"postgresql://ada:hunter2@127.0.0.1:1,127.0.0.1:2/studio", "postgres://ada:hunter2@127.0.0.1/studio?sslmode=hunter2",
		"postgres://ada:hunter2@127.0.0.1:x/studio", "postgres://ada:hunter2%zz@127.0.0.1/studio", "postgres:ada:hunter2",
		"postgres://hunter2\x00", "postgres://ada:hunter2@127.0.0.1/studio?pool_max_conns=-1",
	} {
		db, err := store.Open(t.Context(), dsn, store.Config{})
		if err == nil {
			check(t, db.Close())
		}
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: error is %v", dsn, err)
		}
	}
}

// A change waits alone for a subject that another transaction has locked. Changes that would be in its group do not
// wait.
func TestPostgres_aLockedSubjectDelaysNoOther(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewPostgres(t)
	db := studiotest.Open(t, dsn+"&lock_timeout=30s")
	check(t, db.CreateUser(t.Context(), user("ada")))
	create(t, db, subject("locked", 1))
	create(t, db, subject("free", 1))
	update := func(id string) error {
		return errorOf(db.UpdateSubject(t.Context(), id, func(*studio.Subject) error { return nil }))
	}
	video := func(avatar, id string) error {
		s := subject(id, 1)
		s.Kind, s.AvatarID = studio.Video, avatar
		return errorOf(db.CreateSubject(t.Context(), s, studio.IdempotencyKey{}))
	}
	tx := begin(t, dsn, `SELECT FROM subjects WHERE id = 'locked' FOR UPDATE`)
	const waiting = 3 // of each kind, while one group commits at a time
	ended := make(chan error, 2*waiting)
	for i := range waiting {
		go func() { ended <- update("locked") }()
		go func() { ended <- video("locked", fmt.Sprint(i)) }()
	}
	awaitLock(t, dsn, tx)
	check(t, update("free"))
	check(t, video("free", "video"))
	if len(ended) > 0 {
		t.Error("a change did not wait for the lock")
	}
	check(t, tx.Rollback(t.Context()))
	for range 2 * waiting {
		check(t, <-ended)
	}
}

func TestPostgres_aClockThatIsAheadDelaysNoWork(t *testing.T) {
	t.Parallel()
	db := studiotest.Open(t, studiotest.NewPostgres(t))
	check(t, db.CreateUser(t.Context(), user("ada")))
	ahead := time.Now().Add(time.Hour)
	created, updated := subject("created", 1), subject("updated", 0)
	created.RenderAt, updated.RenderAt, created.Events[0].CreatedAt = ahead, ahead, ahead
	create(t, db, created)
	create(t, db, updated)
	_, err := db.UpdateSubject(t.Context(), "updated", func(s *studio.Subject) error {
		event(s)
		s.Events[0].CreatedAt = ahead
		return nil
	})
	check(t, err)
	for _, work := range []string{store.RenderAt, store.DeliverAt} {
		due := db.NextDue(t, work)
		if len(due) != 2 || due[1].At.After(time.Now()) {
			t.Errorf("%s is due at %v", work, due)
		}
	}
}
