package render_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/render"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

var check = harness.Check

func try[T any](result T, err error) func(t testing.TB) T { return harness.Try(result, err) }

// rendererFunc is a Renderer that calls a function.
type rendererFunc func(ctx context.Context, subject studio.Subject) (studio.Rendering, error)

func (f rendererFunc) Render(ctx context.Context, subject studio.Subject) (studio.Rendering, error) {
	return f(ctx, subject)
}

// poolFixture is a service on a database with a fake renderer.
type poolFixture struct {
	t        *testing.T
	dsn      string
	db       *store.Store
	studio   *studio.Service
	user     studio.User
	renderer rendererFunc
	workers  int
	bubble   bool // on PostgreSQL in a synctest bubble
}

func (s *poolFixture) run(test func(s *poolFixture)) {
	s.open()
	s.user = studiotest.AddUser(s.t, s.studio, "ada@example.com")
	test(s)
	check(s.t, s.db.Close())
}

func (s *poolFixture) open() {
	s.t.Helper()
	var err error
	s.db, err = store.Open(s.t.Context(), s.dsn, store.Config{Exclusive: true})
	check(s.t, err)
	s.studio = studio.New(studiotest.Config(s.db, time.Now))
}

// onSQLite runs a test on SQLite in a synctest bubble.
func onSQLite(t *testing.T, test func(s *poolFixture)) {
	t.Helper()
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	synctest.Test(t, func(t *testing.T) { (&poolFixture{t: t, dsn: dsn}).run(test) })
}

// onEachDatabase runs a test on SQLite and on PostgreSQL, each in a synctest bubble with one process.
func onEachDatabase(t *testing.T, test func(s *poolFixture)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) { onSQLite(t, test) })
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		dsn := studiotest.NewPostgres(t)
		synctest.Test(t, func(t *testing.T) { (&poolFixture{t: t, dsn: dsn, bubble: true}).run(test) })
	})
}

// pool returns a pool that learns of due renderings without polling.
func (s *poolFixture) pool() *render.Pool {
	pool := render.New(render.Config{
		Store: s.db, Studio: s.studio, Renderer: s.renderer, Timeout: time.Minute, Workers: s.workers,
	})
	pool.SetPollInterval(time.Hour)
	if s.bubble {
		pool.SetSoleProcess()
	}
	return pool
}

// start runs a pool until the returned function is called, which cancels running renderings.
func (s *poolFixture) start(pool *render.Pool) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { pool.Run(ctx, ctx) })
	if !s.bubble {
		running.Go(func() { pool.Listen(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// work runs a pool for d, in a synctest bubble.
func (s *poolFixture) work(d time.Duration) {
	s.t.Helper()
	stop := s.start(s.pool())
	time.Sleep(d)
	stop()
}

func (s *poolFixture) create() studio.Subject {
	s.t.Helper()
	return try(s.studio.CreateAvatar(s.t.Context(), studio.Creation{UserID: s.user.ID, Request: []byte(`{}`)}))(s.t)
}

func (s *poolFixture) subject(id string) studio.Subject {
	s.t.Helper()
	return try(s.db.Subject(s.t.Context(), id))(s.t)
}

func (s *poolFixture) exec(statement string) {
	s.t.Helper()
	db := studiotest.OpenSQL(s.t, s.dsn)
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(s.t.Context(), statement); err != nil {
		s.t.Error(err)
	}
}

// A rendering that fails or times out is tried three times. A rendering that fails with a RenderError is not
// retried.
func TestSQLite_retriesARenderingBeforeTheSubjectFails(t *testing.T) {
	t.Parallel()
	const deadline = time.Minute // the timeout that fixture sets
	for _, test := range []struct {
		name   string
		render rendererFunc
		asked  []time.Duration // the times of the renderings, since the creation
		reason string
	}{
		{"failing", func(context.Context, studio.Subject) (studio.Rendering, error) {
			return studio.Rendering{}, errors.New("out of memory")
		}, []time.Duration{0, 10 * time.Second, 70 * time.Second}, "The renderer did not finish."},
		{"hanging", func(ctx context.Context, _ studio.Subject) (studio.Rendering, error) {
			<-ctx.Done()
			return studio.Rendering{}, ctx.Err()
		}, []time.Duration{0, deadline + 10*time.Second, 2*deadline + 70*time.Second}, "The renderer did not finish."},
		{"refusing", func(context.Context, studio.Subject) (studio.Rendering, error) {
			return studio.Rendering{}, &studio.RenderError{Reason: "Too long."}
		}, []time.Duration{0}, "Too long."},
	} {
		t.Run(test.name, func(t *testing.T) {
			onSQLite(t, func(s *poolFixture) {
				began := time.Now()
				var asked []time.Duration
				s.renderer = func(ctx context.Context, subject studio.Subject) (studio.Rendering, error) {
					asked = append(asked, time.Since(began).Round(time.Second))
					return test.render(ctx, subject)
				}
				avatar := s.create()
				s.work(10 * time.Minute)
				if !slices.Equal(asked, test.asked) {
					s.t.Errorf("the renderer was asked after %v, want %v", asked, test.asked)
				}
				if failed := s.subject(avatar.ID); failed.Status != studio.Failed || failed.FailureReason != test.reason {
					s.t.Errorf("it is %s because %q, want %q", failed.Status, failed.FailureReason, test.reason)
				}
			})
		})
	}
}

// A rendering is canceled when its subject is deleted, or when another process has taken it over, but not while the
// database fails. No result is written.
func TestSQLite_cancelsARenderingThatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{true, false} {
		t.Run(fmt.Sprint(deleted), func(t *testing.T) {
			onSQLite(t, func(s *poolFixture) {
				took := -time.Second // unless it is rendered
				s.renderer = func(ctx context.Context, subject studio.Subject) (studio.Rendering, error) {
					s.exec(`ALTER TABLE renderings RENAME TO unreadable`) //nolint:contextcheck // it has that of the test
					time.Sleep(2 * time.Second)                           // in which leases are renewed
					s.exec(`ALTER TABLE unreadable RENAME TO renderings`) //nolint:contextcheck // it has that of the test
					if !deleted {
						s.exec(`UPDATE renderings SET process_id = 'another', leased_until = 1 << 60`) //nolint:contextcheck // it has that of the test
					} else if err := s.studio.Delete(ctx, subject.UserID, subject.Kind, subject.ID); err != nil {
						s.t.Error(err)
					}
					began := time.Now()
					<-ctx.Done()
					took = time.Since(began)
					return studio.Rendering{Video: "late.mp4"}, nil
				}
				avatar := s.create()
				s.work(10 * time.Minute)
				if took <= 0 || took > 2*time.Second {
					s.t.Errorf("the rendering was cancelled after %v", took)
				}
				left, err := s.db.Subject(s.t.Context(), avatar.ID)
				changed := left.Status != studio.Processing || left.RenderTries != 0 || left.Rendering.Video != "" || left.Sequence != 1
				if deleted != errors.Is(err, studio.ErrNotFound) || !deleted && changed {
					s.t.Errorf("the avatar is %+v, %v", left, err)
				}
			})
		})
	}
}

// A new user gets the next free worker, however many renderings of another user wait. Both users
// then have the same number of workers.
func TestPool_Run_sharesWorkersFairly(t *testing.T) {
	t.Parallel()
	onEachDatabase(t, func(s *poolFixture) {
		s.workers = 2
		began := time.Now()
		var mu sync.Mutex
		starts := make(map[string][]time.Duration) // by user
		s.renderer = func(ctx context.Context, subject studio.Subject) (studio.Rendering, error) {
			mu.Lock()
			starts[subject.UserID] = append(starts[subject.UserID], time.Since(began).Round(time.Second))
			mu.Unlock()
			studio.Pause(ctx, 20*time.Second)
			return studio.Rendering{}, nil
		}
		first, second := s.user, studiotest.AddUser(s.t, s.studio, "bob@example.com")
		for range 8 {
			s.create()
		}
		stop := s.start(s.pool())
		time.Sleep(30 * time.Second) // while the second two of the first user are rendered
		s.user = second
		for range 2 {
			s.create()
		}
		time.Sleep(3 * time.Minute)
		stop()
		const round = 20 * time.Second
		if want := []time.Duration{2 * round, 3 * round}; !slices.Equal(starts[second.ID], want) {
			s.t.Errorf("the second user's began after %v, want %v", starts[second.ID], want)
		}
		want := []time.Duration{0, 0, round, round, 2 * round, 3 * round, 4 * round, 4 * round}
		if !slices.Equal(starts[first.ID], want) {
			s.t.Errorf("the first user's began after %v, want %v", starts[first.ID], want)
		}
	})
}

// A daemon that has no free worker notifies other processes of the renderings that it makes due.
func TestPostgres_leavesRenderingsToFreeWorkers(t *testing.T) {
	t.Parallel()
	for name, workers := range map[string]int{"busy": 1, "none": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			(&poolFixture{t: t, dsn: studiotest.NewPostgres(t)}).run(func(s *poolFixture) {
				busy, release := make(chan struct{}), make(chan struct{})
				s.renderer = func(context.Context, studio.Subject) (studio.Rendering, error) {
					close(busy)
					<-release
					return studio.Rendering{}, nil
				}
				s.workers = workers
				defer s.start(s.pool())()
				defer close(release)
				if workers > 0 {
					s.create()
					<-busy
				}
				rendered := make(chan string, 1)
				defer s.worker(func(_ context.Context, subject studio.Subject) (studio.Rendering, error) {
					rendered <- subject.ID
					return studio.Rendering{}, nil
				})()
				if id := s.create().ID; <-rendered != id {
					t.Error("the worker renders another subject")
				}
			})
		})
	}
}

// worker runs a pool with a store of its own until the returned function is called. It has begun to listen,
// and finds due renderings only by notifications.
func (s *poolFixture) worker(renderer rendererFunc) (stop func()) {
	s.t.Helper()
	other := *s
	other.db, other.renderer, other.workers = studiotest.Open(s.t, s.dsn), renderer, 1
	other.studio = studio.New(studiotest.Config(other.db, time.Now))
	stop = other.start(other.pool())
	db := studiotest.OpenSQL(s.t, s.dsn)
	harness.Eventually(s.t, "the worker and the daemon listen", func() (holds bool) {
		err := db.QueryRowContext(s.t.Context(), `SELECT COUNT(*) = 2 FROM pg_stat_activity WHERE datname = current_database()
			AND state = 'idle' AND (query LIKE 'LISTEN "studio\_%' OR query = '-- ping')`).Scan(&holds)
		return err == nil && holds
	})
	return stop
}

// A rendering that a process leaves when it stops is due at once for the next one, even if the clock was a year ahead.
func TestPool_Run_continuesAfterARestart(t *testing.T) {
	t.Parallel()
	onEachDatabase(t, func(s *poolFixture) {
		rendering := make(chan struct{})
		s.renderer = func(ctx context.Context, _ studio.Subject) (studio.Rendering, error) {
			close(rendering)
			<-ctx.Done()
			return studio.Rendering{}, ctx.Err()
		}
		avatar := s.create()
		s.work(time.Second)
		<-rendering
		check(s.t, s.db.Close())
		s.open()
		if left := s.subject(avatar.ID); left.Status != studio.Processing || left.RenderTries != 0 {
			s.t.Fatalf("%+v after a canceled rendering", left)
		}
		s.renderer = func(context.Context, studio.Subject) (studio.Rendering, error) { return studio.Rendering{}, nil }
		s.exec(`UPDATE renderings SET due_at = due_at + 31536000000000`)
		s.work(time.Second)
		if status := s.subject(avatar.ID).Status; status != studio.ConsentPending {
			s.t.Errorf("the avatar is %s", status)
		}
	})
}
