package store

import (
	"context"
	"time"
)

// notPaused is the SQL condition for deliveries that are not paused: a row of pauses is of a URL of a user, or of all.
// Everything that reads due deliveries has it, so that a pause takes effect when the deliveries in memory have expired.
// Its first part, which is evaluated once for all rows, makes it cheap while there is no pause.
const notPaused = `(NOT EXISTS (SELECT 1 FROM pauses) OR NOT EXISTS
	(SELECT 1 FROM pauses p WHERE p.user_id IN ('', deliveries.user_id) AND p.url IN ('', deliveries.url)))`

// Pause makes all processes start no more deliveries, and returns since when. Events stay pending, with their order and
// their remaining attempts. Attempts that run are finished. Pause changes nothing if deliveries are paused.
func (s *Store) Pause(ctx context.Context, now time.Time) (since time.Time, err error) {
	err = s.write(ctx, func(tx transaction) (err error) {
		since, err = pause(ctx, tx, "", "", now)
		return err
	})
	return since, err
}

// pause pauses the deliveries of a user to a URL, or all if both are "", and returns since when they are paused.
func pause(ctx context.Context, tx transaction, userID, url string, now time.Time) (since time.Time, err error) {
	err = queryRow(ctx, tx, []any{instant{&since}}, `INSERT INTO pauses AS p (user_id, url, by_user, paused_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id, url, by_user) DO UPDATE SET paused_at = p.paused_at RETURNING paused_at`, userID, url, userID != "", micros(now))
	return since, err
}

// Resume ends the pause of all deliveries, and makes the pending events due as before. It returns studio.ErrNotFound if
// deliveries are not paused.
func (s *Store) Resume(ctx context.Context) error {
	if err := s.execFound(ctx, `DELETE FROM pauses WHERE user_id = '' AND url = ''`); err != nil {
		return err
	}
	// The flows are read outside of the transaction, because they may be many. If this fails, the next scan finds them.
	due, err := s.DueFlows(ctx, nil)
	flows := make([]Flow, len(due))
	for i := range due {
		flows[i] = due[i].Flow
	}
	if len(flows) > 0 {
		s.signalFlows(SignalDue, flows) //nolint:contextcheck // the pause has ended even if ctx has
	}
	return err
}

// PausedSince returns since when all deliveries are paused, or the zero time if they are not.
func (s *Store) PausedSince(ctx context.Context) (since time.Time, err error) {
	err = queryRow(ctx, s.engine, []any{instant{&since}}, `SELECT paused_at FROM pauses WHERE user_id = '' AND url = ''`)
	return since, orZero(err)
}
