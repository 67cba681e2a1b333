package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
)

const floodPorts = 12

// newOrigins measures the latency of a healthy origin while many new origins receive their first event and never
// respond.
func newOrigins(users int) func(ctx context.Context, s *setup) ([]figure, error) {
	return func(ctx context.Context, s *setup) ([]figure, error) {
		ids, err := s.db.addUsers(ctx, users)
		if err != nil {
			return nil, err
		}
		urls := s.receiver.urls[hangs]
		for i, id := range ids {
			share := urls[i*len(urls)/users : (i+1)*len(urls)/users]
			err := s.db.seed(ctx, batch{name: id, userID: id, urls: share, subjects: 4 * len(share), events: 1})
			if err != nil {
				return nil, err
			}
		}
		if err := s.start(ctx); err != nil {
			return nil, err
		}
		s.rounds = 1
		l, err := s.pace(ctx, besideRate, s.besideNew)
		return []figure{{
			fmt.Sprintf("latency of a healthy origin at %d events/s, with %s new hanging origins of %s", besideRate, measure.Thousands(len(urls)), plural(users, "user")),
			"p99 ≤ 100 ms", l.String(), l.p99 <= 100*time.Millisecond,
		}}, err
	}
}

// flooded measures the latency of a healthy origin with and without other origins that send huge responses.
func flooded(ctx context.Context, s *setup) ([]figure, error) {
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	without, err := s.pace(ctx, besideRate, s.besideHung)
	if err != nil {
		return nil, err
	}
	if err := s.d.Stop(); err != nil {
		return nil, err
	}
	// At 50 deliveries per second, these events last for all rounds.
	events := floodPorts * (s.rounds*s.besideHung*50/besideRate + 100)
	if err := s.db.seed(ctx, batch{name: "floods", urls: s.receiver.urls[floods], subjects: events, events: 1}); err != nil {
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	with, err := s.pace(ctx, besideRate, s.besideHung)
	return []figure{{
		fmt.Sprintf("latency of a healthy origin at %d events/s, with %d origins that send gzip bombs, 10 GB or 1 MiB of headers", besideRate, floodPorts),
		"p99 ≤ 2 × p99 without them", fmt.Sprintf("%v; without them %v", with, without), with.p99 <= 2*without.p99,
	}}, err
}

// addUsers inserts users without a password.
func (db *database) addUsers(ctx context.Context, users int) (ids []string, err error) {
	return ids, db.change(ctx, func(tx *sql.Tx) error {
		for i := range users {
			id := fmt.Sprintf("user-%d", i)
			_, err := tx.ExecContext(ctx, `INSERT INTO users (id, email, password_hash, created_at) VALUES ($1, $2, '', $3)`,
				id, id+"@example.com", time.Now().UnixMicro())
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return nil
	})
}

func plural(n int, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
