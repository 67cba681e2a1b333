package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// countTry counts in login_tries, and begins again at one if the count in the row began window ago or earlier, or as
// much later than now: the clock was set back. It returns the count and when it began.
func countTry(ctx context.Context, tx transaction, key string, now time.Time, window time.Duration) (tries int, began time.Time, err error) {
	err = queryRow(ctx, tx, []any{&tries, instant{&began}}, `
		INSERT INTO login_tries AS l (account, tries, began_at) VALUES ($1, 1, $2)
		ON CONFLICT (account) DO UPDATE SET
			tries = CASE WHEN ABS(l.began_at - $2) >= $3 THEN 1 ELSE l.tries + 1 END,
			began_at = CASE WHEN ABS(l.began_at - $2) >= $3 THEN $2 ELSE l.began_at END
		RETURNING tries, began_at`, key, micros(now), window.Microseconds())
	return tries, began, err
}

func (s *Store) CountWebhookTest(ctx context.Context, key string, now time.Time, window time.Duration, limit int) error {
	return s.write(ctx, func(tx transaction) error {
		tests, began, err := countTry(ctx, tx, key, now, window)
		if err == nil && tests > limit { // the error rolls the count back
			err = studio.ErrTooManyTests.After(began.Add(window).Sub(now))
		}
		return err
	})
}

// LoginWait reads the failures from login_tries. In the rows of a throttle, began_at is the time of the last
// failure.
func (s *Store) LoginWait(ctx context.Context, throttles []studio.Throttle, now time.Time) (wait time.Duration, err error) {
	for _, throttle := range throttles {
		var failures int
		var last time.Time
		err := queryRow(ctx, s.engine, []any{&failures, instant{&last}}, `SELECT tries, began_at FROM login_tries
			WHERE account = $1 AND began_at > $2`, throttle.Key, micros(now.Add(-studio.LoginMemory)))
		if err != nil && !errors.Is(err, studio.ErrNotFound) {
			return 0, err
		}
		wait = max(wait, throttle.Wait(failures, last, now))
	}
	return wait, nil
}

// inOrder returns throttles in the order in which their rows are locked, so that logins do not deadlock.
func inOrder(throttles []studio.Throttle) []studio.Throttle {
	return slices.SortedFunc(slices.Values(throttles), func(a, b studio.Throttle) int { return cmp.Compare(a.Key, b.Key) })
}

// errMustWait rolls back the counts of CountLogin.
var errMustWait = errors.New("store: a login must wait")

func (s *Store) CountLogin(ctx context.Context, throttles []studio.Throttle, now time.Time) (wait time.Duration, err error) {
	throttles = inOrder(throttles)
	err = s.write(ctx, func(tx transaction) error {
		wait = 0
		for _, throttle := range throttles {
			failures, last, err := countTry(ctx, tx, throttle.Key, now, studio.LoginMemory)
			if err != nil {
				return err
			}
			wait = max(wait, throttle.Wait(failures-1, last, now))
		}
		if wait > 0 {
			return errMustWait
		}
		for _, throttle := range throttles {
			if _, err := tx.exec(ctx, `UPDATE login_tries SET began_at = $2 WHERE account = $1`, throttle.Key, micros(now)); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errMustWait) {
		return wait, nil
	}
	return 0, err
}

func (s *Store) ReleaseLoginAttempt(ctx context.Context, throttles []studio.Throttle, succeeded bool) error {
	var changes []statement
	for _, throttle := range inOrder(throttles) {
		query := `UPDATE login_tries SET tries = tries - 1 WHERE account = $1 AND tries > 0`
		if succeeded && throttle.Forgets {
			query = `DELETE FROM login_tries WHERE account = $1`
		}
		changes = append(changes, statement{query, []any{throttle.Key}})
	}
	return s.execAll(ctx, changes)
}

func (s *Store) KnowsAddress(ctx context.Context, userID, address string, after time.Time) (bool, error) {
	return exists(ctx, s.engine,
		`SELECT 1 FROM known_addresses WHERE user_id = $1 AND address = $2 AND seen_at > $3`, userID, address, micros(after))
}

// maxAddresses bounds the addresses from which a user is known. A further one replaces the one that was seen longest
// ago.
const maxAddresses = 500

// SeeAddress writes the time only if the last one is older than a day.
func (s *Store) SeeAddress(ctx context.Context, userID, address string, now time.Time) error {
	known, err := s.KnowsAddress(ctx, userID, address, now.Add(-24*time.Hour))
	if err != nil || known {
		return err
	}
	return s.writeOf(ctx, userID, func(tx transaction) error {
		return tx.execAll(ctx, []statement{
			{`INSERT INTO known_addresses AS k (user_id, address, seen_at) VALUES ($1, $2, $3)
				ON CONFLICT (user_id, address) DO UPDATE SET seen_at = $3`, []any{userID, address, micros(now)}},
			{`DELETE FROM known_addresses WHERE user_id = $1 AND seen_at < (SELECT seen_at FROM known_addresses WHERE user_id = $1
				ORDER BY seen_at DESC LIMIT 1 OFFSET $2 - 1)`, []any{userID, maxAddresses}},
		})
	})
}
