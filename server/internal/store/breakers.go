package store

import (
	"context"
	"time"
)

// Breaker is the open circuit breaker of an origin. No event is sent to the origin before Until. Afterwards the
// breaker lets one attempt pass, the probe, and stays stored until a probe succeeds or [Store.Prune] deletes it.
type Breaker struct {
	Origin string
	Until  time.Time
	Pause  time.Duration // how long the breaker is open, until Until
}

// SaveBreaker stores a breaker. It replaces an earlier one of the same origin.
func (s *Store) SaveBreaker(ctx context.Context, b Breaker) error {
	return s.exec(ctx, `INSERT INTO breakers (origin, until, pause) VALUES ($1, $2, $3)
		ON CONFLICT (origin) DO UPDATE SET until = excluded.until, pause = excluded.pause`,
		b.Origin, micros(b.Until), b.Pause.Microseconds())
}

// ForgetBreaker deletes the breaker of an origin, after it has closed.
func (s *Store) ForgetBreaker(ctx context.Context, origin string) error {
	return s.exec(ctx, `DELETE FROM breakers WHERE origin = $1`, origin)
}

// Breakers returns all stored breakers, including those whose pause is over.
func (s *Store) Breakers(ctx context.Context) ([]Breaker, error) { return s.breakers(ctx, "") }

// OpenBreakers returns up to limit breakers that are open now, ordered by origin. It starts after the origin
// after, or at the first if after is "".
func (s *Store) OpenBreakers(ctx context.Context, after string, limit int) ([]Breaker, error) {
	return s.breakers(ctx, ` WHERE until > `+now(s.engine)+` AND origin > $1 ORDER BY origin `+limitTo("$2"), after, limit)
}

func (s *Store) breakers(ctx context.Context, which string, args ...any) ([]Breaker, error) {
	return queryRows(ctx, s.engine, func(b *Breaker) []any {
		return []any{&b.Origin, instant{&b.Until}, interval{&b.Pause}}
	}, `SELECT origin, until, pause FROM breakers`+which, args...)
}
