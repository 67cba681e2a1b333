package jobs_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/jobs"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

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
			onSQLite(t, func(s *fixture) {
				began := time.Now()
				var asked []time.Duration
				s.renderer = func(ctx context.Context, subject studio.Subject) (studio.Rendering, error) {
					asked = append(asked, time.Since(began).Round(time.Second))
					return test.render(ctx, subject)
				}
				avatar := s.create()
				s.work(10 * time.Minute)
				s.wantStatuses(avatar.ID, "processing", "failed")
				if !slices.Equal(asked, test.asked) {
					s.t.Errorf("the renderer was asked after %v, want %v", asked, test.asked)
				}
				failed, err := s.db.Subject(s.t.Context(), avatar.ID)
				if err != nil || failed.FailureReason != test.reason {
					s.t.Errorf("it failed because %q (%v), want %q", failed.FailureReason, err, test.reason)
				}
			})
		})
	}
}

// A rendering is canceled when its subject is deleted, and no event is sent.
func TestSQLite_cancelsTheRenderingOfADeletedSubject(t *testing.T) { //nolint:paralleltest // inBubble calls Parallel
	onSQLite(t, func(s *fixture) {
		var took time.Duration
		s.renderer = func(ctx context.Context, subject studio.Subject) (studio.Rendering, error) {
			if err := s.studio.Delete(ctx, subject.UserID, subject.Kind, subject.ID); err != nil {
				s.t.Error(err)
			}
			began := time.Now()
			<-ctx.Done()
			took = time.Since(began)
			return studio.Rendering{}, ctx.Err()
		}
		avatar := s.create()
		s.work(10 * time.Minute)
		if took == 0 || took > 500*time.Millisecond {
			s.t.Errorf("the rendering was cancelled after %v", took)
		}
		if _, err := s.db.Subject(s.t.Context(), avatar.ID); !errors.Is(err, studio.ErrNotFound) {
			s.t.Errorf("error %v", err)
		}
	})
}

// A process cancels a rendering that another process has taken over, and writes no result.
func TestSQLite_cancelsARenderingThatAnotherProcessTookOver(t *testing.T) { //nolint:paralleltest // inBubble calls Parallel
	onSQLite(t, func(s *fixture) {
		var took time.Duration
		s.renderer = func(ctx context.Context, _ studio.Subject) (studio.Rendering, error) {
			s.exec(`UPDATE renderings SET process_id = 'another', leased_until = 1 << 60`) //nolint:contextcheck // it has that of the test
			began := time.Now()
			<-ctx.Done()
			took = time.Since(began)
			return studio.Rendering{Video: "late.mp4"}, nil
		}
		avatar := s.create()
		s.work(10 * time.Minute)
		if took == 0 || took > 2*time.Second {
			s.t.Errorf("the rendering was cancelled after %v", took)
		}
		left, err := s.db.Subject(s.t.Context(), avatar.ID)
		if err != nil || left.Status != studio.Processing || left.RenderTries != 0 || left.Rendering.Video != "" {
			s.t.Errorf("the avatar is %+v (%v)", left, err)
		}
		s.wantStatuses(avatar.ID, "processing")
	})
}

// A new user gets the next free worker, however many renderings of another user wait. Both users
// then have the same number of workers.
func TestRunner_Run_sharesRenderWorkersFairly(t *testing.T) {
	onEachDatabase(t, func(s *fixture) {
		s.config.RenderWorkers = 2
		began := time.Now()
		var mu sync.Mutex
		starts := make(map[string][]time.Duration) // by user
		s.renderer = func(ctx context.Context, subject studio.Subject) (studio.Rendering, error) {
			mu.Lock()
			starts[subject.UserID] = append(starts[subject.UserID], time.Since(began).Round(time.Second))
			mu.Unlock()
			limited, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			<-limited.Done()
			return studio.Rendering{}, nil
		}
		first, second := s.user, studiotest.AddUser(s.t, s.studio, "bob@example.com")
		for range 8 {
			s.create()
		}
		s.workWhile(3*time.Minute, func() {
			time.Sleep(30 * time.Second) // while the second two of the first user are rendered
			s.user = second
			for range 2 {
				s.create()
			}
		})
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

// Two processes share the renderings of a database, and the fair share of a user counts the renderings in
// both.
func TestPostgres_sharesRenderWorkersFairlyAcrossProcesses(t *testing.T) {
	t.Parallel()
	onRealPostgres(t, studiotest.NewPostgres(t), func(s *fixture) {
		s.config.RenderWorkers = 2
		var mu sync.Mutex
		running := make(map[string][]chan struct{}) // by user
		var seen []string
		stopped := make(chan struct{})
		s.renderer = func(_ context.Context, subject studio.Subject) (studio.Rendering, error) {
			end := make(chan struct{})
			mu.Lock()
			select {
			case <-stopped: // the other process claims the renderings that a stopping process releases
			default:
				if slices.Contains(seen, subject.ID) {
					s.t.Errorf("%s is rendered twice", subject.ID)
				}
			}
			seen = append(seen, subject.ID)
			running[subject.UserID] = append(running[subject.UserID], end)
			mu.Unlock()
			select {
			case <-end:
				return studio.Rendering{}, nil
			case <-stopped:
				return studio.Rendering{}, errors.New("stopped")
			}
		}
		count := func(user studio.User) int {
			mu.Lock()
			defer mu.Unlock()
			return len(running[user.ID])
		}
		end := func(user studio.User) {
			mu.Lock()
			defer mu.Unlock()
			close(running[user.ID][0])
			running[user.ID] = running[user.ID][1:]
		}
		first, second := s.user, studiotest.AddUser(s.t, s.studio, "bob@example.com")
		for range 20 {
			s.create()
		}
		for range 2 {
			defer start(jobs.NewRunner(s.jobs()))()
		}
		defer close(stopped)
		s.eventually("both processes render for the first user", func() bool { return count(first) == 4 })
		s.user = second
		for range 3 {
			s.create()
		}
		for n := 1; n <= 2; n++ {
			end(first)
			s.eventually("a worker that becomes free is the second user's", func() bool { return count(second) == n })
		}
		end(first) // the first user has fewer renderings then
		s.eventually("the next free worker is the first user's", func() bool { return count(first) == 2 })
		if n := count(second); n != 2 {
			s.t.Errorf("the second user has %d renderings under way, want half", n)
		}
	})
}

// A daemon that has no free worker notifies other processes of the renderings that it makes due.
func TestPostgres_leavesRenderingsToFreeWorkers(t *testing.T) {
	t.Parallel()
	for name, workers := range map[string]int{"busy": 1, "none": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onRealPostgres(t, studiotest.NewPostgres(t), func(s *fixture) {
				busy, release := make(chan struct{}), make(chan struct{})
				s.renderer = func(context.Context, studio.Subject) (studio.Rendering, error) {
					close(busy)
					<-release
					return studio.Rendering{}, nil
				}
				s.config.RenderWorkers = workers
				defer s.daemon()()
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

// worker runs a Worker with a store of its own until the returned function is called. It has begun to listen,
// and finds due renderings only by notifications.
func (s *fixture) worker(renderer rendererFunc) (stop func()) {
	s.t.Helper()
	db := studiotest.Open(s.t, s.dsn)
	work := s.jobs().Config
	work.Store, work.Studio, work.Renderer, work.RenderWorkers = db, studio.New(studiotest.Config(db, s.now)), renderer, 1
	worker := jobs.NewWorker(jobs.New(work))
	worker.SetPollInterval(time.Hour)
	stop = start(worker)
	s.eventuallyTrue("the worker listens", `SELECT EXISTS (SELECT FROM pg_stat_activity
		WHERE datname = current_database() AND query = 'LISTEN "studio_' || current_schema() || '"' AND state = 'idle')`)
	return stop
}
