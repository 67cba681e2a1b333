package store

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// notPaused is the SQL condition for deliveries that are not paused. Everything that reads due
// deliveries has it, so that a pause takes effect when the deliveries in memory have expired. Its first part, which is
// evaluated once for all rows, makes it cheap while there is no pause.
const notPaused = `(NOT EXISTS (SELECT 1 FROM pauses) OR NOT EXISTS
	(SELECT 1 FROM pauses p WHERE p.user_id IN ('', deliveries.user_id) AND p.url IN ('', deliveries.url)))`

// PauseScope is the deliveries that a pause stops, and who has paused them. The zero value is all deliveries of the
// service.
type PauseScope struct {
	UserID string // "" for every user
	URL    string // "" for every URL
	ByUser bool   // by the user, and not by an operator; each ends their own pauses only
}

// Pause makes all processes start no more deliveries of a scope, and returns since when. Events stay pending, with
// their order and their remaining attempts. Attempts that run are finished. Pause changes nothing if the scope is
// paused. It returns studio.ErrNotFound if the user is deleted.
func (s *Store) Pause(ctx context.Context, scope PauseScope, now time.Time) (since time.Time, err error) {
	err = s.write(ctx, func(tx transaction) error {
		if scope.UserID != "" {
			if err := lockUser(ctx, tx, `id = $1`, scope.UserID); err != nil {
				return err
			}
		}
		return queryRow(ctx, tx, []any{instant{&since}}, `INSERT INTO pauses AS p (user_id, url, by_user, paused_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (user_id, url, by_user) DO UPDATE SET paused_at = p.paused_at RETURNING paused_at`, scope.UserID, scope.URL, scope.ByUser, micros(now))
	})
	return since, err
}

// Resume ends the pause of a scope, and makes its pending events due as before. It returns studio.ErrNotFound if the
// scope is not paused.
func (s *Store) Resume(ctx context.Context, scope PauseScope) error {
	err := s.write(ctx, func(tx transaction) error { return resume(ctx, tx, scope) })
	if err != nil || scope.UserID != "" && scope.URL != "" {
		return err
	}
	// The flows are read outside of the transaction, because they may be many. If this fails, the next scan finds them.
	due, err := s.DueFlows(ctx, nil)
	var flows []Flow
	for _, flow := range due {
		if scope.UserID == "" || scope.UserID == flow.UserID {
			flows = append(flows, flow.Flow)
		}
	}
	if len(flows) > 0 {
		s.signalFlows(SignalDue, flows) //nolint:contextcheck // the pause has ended even if ctx has
	}
	return err
}

// resume is Resume in a transaction. It marks the flow of a URL of a user.
func resume(ctx context.Context, tx transaction, scope PauseScope) error {
	err := execFound(ctx, tx, `DELETE FROM pauses WHERE user_id = $1 AND url = $2 AND by_user = $3`, scope.UserID, scope.URL, scope.ByUser)
	if err == nil && scope.UserID != "" && scope.URL != "" {
		tx.mark(SignalDue, Flow{scope.UserID, studio.Origin(scope.URL)}.key())
	}
	return err
}

// PausedSince returns since when a scope is paused, or the zero time if it is not.
func (s *Store) PausedSince(ctx context.Context, scope PauseScope) (since time.Time, err error) {
	err = queryRow(ctx, s.engine, []any{instant{&since}}, `SELECT paused_at FROM pauses WHERE user_id = $1 AND url = $2 AND by_user = $3`,
		scope.UserID, scope.URL, scope.ByUser)
	return since, orZero(err)
}
