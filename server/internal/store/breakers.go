package store

import (
	"context"
	"time"
)

// Breaker is an origin to which nothing is sent until a time.
type Breaker struct {
	Origin string
	Until  time.Time
	Pause  time.Duration // that ends then
}

// SaveBreaker keeps a breaker that opens, in place of an earlier one of its origin.
func (s *Store) SaveBreaker(ctx context.Context, b Breaker) error {
	return s.write(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, `INSERT INTO breakers (origin, until, pause) VALUES ($1, $2, $3)
			ON CONFLICT (origin) DO UPDATE SET until = excluded.until, pause = excluded.pause`,
			b.Origin, micros(b.Until), b.Pause.Microseconds())
		return err
	})
}

// ForgetBreaker forgets a breaker that has closed.
func (s *Store) ForgetBreaker(ctx context.Context, origin string) error {
	return s.write(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, `DELETE FROM breakers WHERE origin = $1`, origin)
		return err
	})
}

// Breakers returns the breakers that are kept.
func (s *Store) Breakers(ctx context.Context) ([]Breaker, error) {
	var all []Breaker
	err := s.engine.query(ctx, func(scan func(...any) error) error {
		var b Breaker
		var pause int64
		err := scan(&b.Origin, instant{&b.Until}, &pause)
		b.Pause = time.Duration(pause) * time.Microsecond
		all = append(all, b)
		return err
	}, `SELECT origin, until, pause FROM breakers`)
	return all, err
}
