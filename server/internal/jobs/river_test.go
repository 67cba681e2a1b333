package jobs_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/jobs"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// onRiver runs a test with a clock that is moved to the next thing that is due whenever all that is
// due has been done.
func onRiver(t *testing.T, test func(s *setup)) {
	t.Helper()
	clock := &movedClock{}
	s := &setup{t: t, dsn: studiotest.NewPostgres(t), now: clock.Now}
	s.work = func(d time.Duration) { s.workOnRiver(clock, d) }
	s.run(test)
}

// movedClock is ahead of the real time.
type movedClock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *movedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// move makes it at least a time.
func (c *movedClock) move(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = max(c.ahead, time.Until(to))
}

func (s *setup) workOnRiver(clock *movedClock, d time.Duration) {
	s.t.Helper()
	end := clock.Now().Add(d)
	r, err := jobs.NewTestRiver(s.jobs())
	if err != nil {
		s.t.Fatal(err)
	}
	defer start(r)()
	db := studiotest.OpenSQL(s.t, s.dsn)
	defer func() { _ = db.Close() }()
	for {
		next := s.waitForQuiet(db, clock)
		if !next.Valid || next.Time.After(end) {
			break
		}
		clock.move(next.Time)
		s.makeDue(db, clock)
	}
	clock.move(end)
}

// start does work until the returned function is called, which cuts it off.
func start(trigger jobs.Trigger) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		trigger.Run(ctx, ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// waitForQuiet waits until every job that is due has been done, and returns when the next is.
func (s *setup) waitForQuiet(db *sql.DB, clock *movedClock) (next sql.NullTime) {
	s.t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(20 * time.Second)
	for {
		var busy bool
		err := db.QueryRowContext(s.t.Context(), `SELECT COALESCE(bool_or(state = 'running' AND NOT (kind = 'render' AND $2)
				OR state = 'available' AND scheduled_at <= $1), false), min(scheduled_at) FILTER (WHERE state <> 'running')
			FROM river_job WHERE finalized_at IS NULL`, clock.Now(), s.hangs).Scan(&busy, &next)
		if err != nil {
			s.t.Fatal(err)
		}
		if !busy {
			return next
		}
		select {
		case <-ticker.C:
		case <-timeout:
			s.t.Fatal("work does not come to an end")
		}
	}
}

// makeDue does what River's leader does now and then.
func (s *setup) makeDue(db *sql.DB, clock *movedClock) {
	s.t.Helper()
	_, err := db.ExecContext(s.t.Context(),
		`UPDATE river_job SET state = 'available' WHERE state IN ('scheduled', 'retryable') AND scheduled_at <= $1`, clock.Now())
	if err != nil {
		s.t.Fatal(err)
	}
}
