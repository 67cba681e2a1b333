package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/server/internal/jobs"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// onRealTime runs a test on PostgreSQL with nothing that works yet.
func onRealTime(t *testing.T, dsn string, test func(s *setup)) {
	t.Helper()
	s := &setup{t: t, dsn: dsn, now: time.Now, limits: jobs.Config{Rate: 100_000, InFlight: 100}}
	s.run(test)
}

// daemon is a River as it works in a daemon, but for what adjust changes. Nothing is found again
// that is not in the queue.
func (s *setup) daemon(adjust func(r *jobs.River)) (stop func()) {
	s.t.Helper()
	r, err := jobs.NewRiver(s.jobs())
	if err != nil {
		s.t.Fatal(err)
	}
	r.SetSafetyNet(time.Hour)
	adjust(r)
	return start(r)
}

// eventually waits until a condition holds.
func (s *setup) eventually(what string, holds func() bool) {
	s.t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(40 * time.Second)
	for !holds() {
		select {
		case <-ticker.C:
		case <-timeout:
			s.t.Fatal(what + " within 40 s: no")
		}
	}
}

// pending returns how many events have not ended.
func (s *setup) pending() int {
	s.t.Helper()
	events, err := s.db.Events(s.t.Context(), store.EventFilter{State: store.Pending}, "", 10_000)
	if errors.Is(err, studio.ErrBusy) {
		return -1
	}
	if err != nil {
		s.t.Log(err)
		return -1
	}
	return len(events)
}

// announce adds an event to a subject.
func (s *setup) announce(id string) error {
	_, err := s.db.UpdateSubject(s.t.Context(), id, func(subject *studio.Subject) error {
		subject.Sequence++
		subject.Events = append(subject.Events, studio.Event{
			ID: uuid.NewString(), SubjectID: id, Sequence: subject.Sequence, Body: []byte(`{}`), CreatedAt: time.Now(),
		})
		return nil
	})
	return err
}

// Events that come while others of their subject are delivered, just before its job ends for instance,
// are delivered without a sweep, and none out of order.
func TestRiver_strandsNoEvent(t *testing.T) {
	t.Parallel()
	onRealTime(t, studiotest.NewPostgres(t), func(s *setup) {
		const subjects, events = 10, 40
		var mu sync.Mutex
		last := make(map[string]int64)
		s.sender = senderFunc(func(_ context.Context, message sender.Message) sender.Attempt {
			mu.Lock()
			defer mu.Unlock()
			if message.Sequence != last[message.URL]+1 {
				s.t.Errorf("event %d comes after %d", message.Sequence, last[message.URL])
			}
			last[message.URL] = message.Sequence
			return sender.Attempt{Status: 200}
		})
		defer s.daemon(func(*jobs.River) {})()
		var announcing sync.WaitGroup
		for i := range subjects {
			id := s.createFor(fmt.Sprintf("https://hooks.example.com/%d", i)).ID
			announcing.Go(func() {
				for range events {
					if err := s.announce(id); err != nil {
						s.t.Error(err)
					}
				}
			})
		}
		announcing.Wait()
		s.eventually("every event is delivered", func() bool { return s.pending() == 0 })
	})
}

func TestRiver_twoDaemonsShareTheWork(t *testing.T) {
	t.Parallel()
	onRealTime(t, studiotest.NewPostgres(t), func(s *setup) {
		var mu sync.Mutex
		running := make(map[string]bool)
		var did [2]atomic.Int64
		enter := func(url string, enters bool) {
			mu.Lock()
			defer mu.Unlock()
			if running[url] == enters {
				s.t.Errorf("two attempts are made at once for %s", url)
			}
			running[url] = enters
		}
		for i := range did {
			s.sender = senderFunc(func(ctx context.Context, message sender.Message) sender.Attempt {
				did[i].Add(1)
				enter(message.URL, true)
				defer enter(message.URL, false)
				limited, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
				defer cancel()
				<-limited.Done()
				return sender.Attempt{Status: 200}
			})
			s.limits.Workers = 8
			defer s.daemon(func(*jobs.River) {})()
		}
		for i := range 200 {
			s.createFor(fmt.Sprintf("https://hooks.example.com/%d", i))
		}
		s.eventually("every event is delivered", func() bool { return did[0].Load()+did[1].Load() >= 600 && s.pending() == 0 })
		if a, b := did[0].Load(), did[1].Load(); a+b != 600 || min(a, b) < 60 {
			s.t.Errorf("the daemons made %d and %d attempts, want 600 together and a share for each", a, b)
		}
	})
}

// A daemon that says no more that it is alive loses its jobs to another, and what it does with them
// afterwards changes nothing.
func TestRiver_anotherDaemonTakesOver(t *testing.T) {
	t.Parallel()
	onRealTime(t, studiotest.NewPostgres(t), func(s *setup) {
		rendering, sending, resume := make(chan struct{}), make(chan struct{}), make(chan struct{})
		s.renderer = func(context.Context, studio.Subject) (studio.Rendering, error) {
			close(rendering)
			<-resume
			return studio.Rendering{}, nil
		}
		s.sender = senderFunc(func(context.Context, sender.Message) sender.Attempt {
			close(sending)
			<-resume
			return sender.Attempt{Failure: sender.FailureReset}
		})
		silent, err := jobs.NewSmallRiver(s.jobs())
		if err != nil {
			s.t.Fatal(err)
		}
		stop := start(silent)
		avatar := s.create()
		<-rendering
		<-sending

		s.sender = s.receiver
		s.renderer = func(context.Context, studio.Subject) (studio.Rendering, error) { return studio.Rendering{}, nil }
		defer s.daemon(func(r *jobs.River) { r.SetAlive(100 * time.Millisecond) })()
		db := studiotest.OpenSQL(s.t, s.dsn)
		_, err = db.ExecContext(s.t.Context(), `UPDATE daemons SET seen_at = seen_at - make_interval(secs => $2) WHERE id = $1`,
			silent.ID(), store.Lease.Seconds())
		if err != nil {
			s.t.Fatal(err)
		}
		want := []string{"processing", "consent_pending", "published"}
		s.eventually("another daemon takes over", func() bool { return slices.Equal(s.receiver.statuses(avatar.ID), want) })
		close(resume)
		stop()
		s.wantStatuses(avatar.ID, want...)
		if n := s.pending(); n != 0 {
			s.t.Errorf("%d events are pending after a daemon came back", n)
		}
	})
}

func TestRiver_addsAJobThatIsMissing(t *testing.T) {
	t.Parallel()
	onRealTime(t, studiotest.NewPostgres(t), func(s *setup) {
		s.seed(10, "https://hooks.example.com/") // in the rows alone
		defer s.daemon(func(r *jobs.River) { r.SetAlive(100 * time.Millisecond) })()
		s.eventually("what was there at the start is delivered", func() bool { return s.pending() == 0 })
	})
}

func TestRiver_outlivesACrashOfTheDatabase(t *testing.T) {
	t.Parallel()
	cluster, err := studiotest.StartCluster()
	if errors.Is(err, studiotest.ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	onRealTime(t, studiotest.NewSchema(t, cluster.DSN), func(s *setup) {
		var received atomic.Int64
		s.sender = senderFunc(func(context.Context, sender.Message) sender.Attempt {
			if received.Add(1) == 50 {
				if err := cluster.Restart(); err != nil {
					s.t.Error(err)
				}
			}
			return sender.Attempt{Status: 200}
		})
		for i := range 100 {
			s.createFor(fmt.Sprintf("https://hooks.example.com/%d", i))
		}
		defer s.daemon(func(*jobs.River) {})()
		s.eventually("every event is delivered", func() bool {
			subjects, err := s.db.NextDue(s.t.Context(), store.Render, 1)
			return err == nil && len(subjects) == 0 && received.Load() >= 300 && s.pending() == 0
		})
	})
}

// A queue that was empty when the server looked, as most are, and then fills is not planned for as
// if it had one row.
func TestRiver_theServerKnowsOfAQueueThatFills(t *testing.T) {
	t.Parallel()
	onRiver(t, func(s *setup) {
		db := studiotest.OpenSQL(s.t, s.dsn)
		if _, err := db.ExecContext(s.t.Context(), `ANALYZE river_job`); err != nil {
			s.t.Fatal(err)
		}
		s.seed(2000, hook)
		for _, err := range []error{s.db.Sweep(s.t.Context(), true), s.db.Refresh(s.t.Context())} {
			if err != nil {
				s.t.Fatal(err)
			}
		}
		var planned float64
		err := db.QueryRowContext(s.t.Context(), `SELECT reltuples FROM pg_class WHERE oid = 'river_job'::regclass`).Scan(&planned)
		if err != nil || planned < 1000 {
			s.t.Errorf("the server plans for %v of 2,000 jobs, error %v", planned, err)
		}
	})
}
