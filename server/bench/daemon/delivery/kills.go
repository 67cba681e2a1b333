package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
)

const maxWait = 10 * time.Minute

// workers is the default number of delivery workers of a daemon.
const workers = 256

// kills measures the effect of killing the daemon repeatedly while it delivers a backlog.
func kills(ctx context.Context, s *setup) ([]figure, error) {
	rounds := s.kills
	if s.db.Name == measure.PostgreSQL {
		rounds = (rounds + 3) / 4 // each round waits for a lease to expire
	}
	duplicates, target := 0, s.db.targets().throughput
	var late, took time.Duration // maxima of all rounds
	for round := range rounds {
		d, all, rest, err := s.kill(ctx, round)
		if err != nil {
			return nil, fmt.Errorf("round %d: %w", round+1, err)
		}
		duplicates = max(duplicates, d)
		took = max(took, all)
		late = max(late, all-time.Duration(rest)*time.Second/time.Duration(target))
	}
	name := fmt.Sprintf("SIGKILL during %s events", measure.Thousands(s.killed))
	return []figure{
		{name + ": lost events", "0", fmt.Sprintf("0 in %d kills", rounds), true},
		{name + ": duplicates", fmt.Sprintf("≤ %d, the number of workers", workers), fmt.Sprintf("max %d", duplicates), duplicates <= workers},
		{
			name + ": from the restart to the last delivery", fmt.Sprintf("≤ 5 s more than at %s/s", measure.Thousands(target)),
			fmt.Sprintf("max %.1f s more, %.1f s in total", max(late, 0).Seconds(), took.Seconds()), late <= 5*time.Second,
		},
	}, nil
}

// kill kills the daemon once. It returns the number of duplicates, the time from the restart to the last
// delivery, and the number of events that were left at the restart.
func (s *setup) kill(ctx context.Context, round int) (duplicates int, took time.Duration, rest int, err error) {
	_, err = s.receiver.reset()
	if err == nil {
		err = s.db.seed(ctx, batch{name: fmt.Sprintf("kill%d", round), urls: s.receiver.urls[accepts], subjects: s.killed / 2, events: 2})
	}
	if err == nil {
		err = s.killAt(ctx, s.killed/10+rand.IntN(s.killed*8/10))
	}
	if err != nil {
		return 0, 0, 0, err
	}
	before, err := s.receiver.query(query{})
	if err != nil {
		return 0, 0, 0, err
	}
	t, err := s.finish(ctx, s.killed)
	return t.Duplicates, t.Last.Sub(s.d.Started), s.killed - before.Accepted, err
}

// killAt starts a daemon and kills it when the receiver has accepted the given number of events.
func (s *setup) killAt(ctx context.Context, accepted int) error {
	if err := s.start(ctx); err != nil {
		return err
	}
	if _, err := s.receiver.query(query{Accepted: accepted, MaxWait: maxWait}); err != nil {
		return err
	}
	return s.d.Kill()
}

// finish starts a daemon and stops it when all events are delivered.
func (s *setup) finish(ctx context.Context, events int) (tally, error) {
	if err := s.start(ctx); err != nil {
		return tally{}, err
	}
	if t, err := s.receiver.waitAll(events, maxWait, false); err != nil {
		return t, err
	}
	// Events that were accepted but not recorded before a kill are sent again.
	if err := s.db.delivered(ctx); err != nil {
		return tally{}, err
	}
	t, err := s.receiver.waitAll(events, 0, false)
	if err != nil {
		return t, err
	}
	return t, s.d.Stop()
}

// order verifies the order of events while a receiver rejects some of them and the daemon is killed
// repeatedly.
func order(ctx context.Context, s *setup) ([]figure, error) {
	each := s.ordered / s.subjects
	events := each * s.subjects
	if err := s.db.seed(ctx, batch{name: "order", urls: s.receiver.urls[fails], subjects: s.subjects, events: each}); err != nil {
		return nil, err
	}
	began := time.Now()
	for i := range s.restarts {
		if err := s.killAt(ctx, events*(i+1)/(s.restarts+1)); err != nil {
			return nil, err
		}
	}
	t, err := s.finish(ctx, events)
	return []figure{{
		fmt.Sprintf("order of %s events of %s subjects, with %d SIGKILLs", measure.Thousands(events), measure.Thousands(s.subjects), s.restarts), "0 events out of order",
		fmt.Sprintf("%d (%s failed attempts, %d duplicates, %.0f s)", t.Inversions, measure.Thousands(t.Failed), t.Duplicates, time.Since(began).Seconds()),
		t.Inversions == 0,
	}}, err
}
