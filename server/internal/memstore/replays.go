package memstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// replayed returns the events of a selection. s.mu must be held.
func (s *Store) replayed(selection studio.ReplaySelection) (all []*studio.EventRecord) {
	for _, e := range s.events {
		if matches(selection.Filter, e) && slices.Contains(selection.States, e.State) && s.subjects[e.SubjectID].deletedAt.IsZero() &&
			(len(selection.EventIDs) == 0 || slices.Contains(selection.EventIDs, e.ID)) {
			all = append(all, e)
		}
	}
	return all
}

func (s *Store) CountReplay(_ context.Context, selection studio.ReplaySelection, _ time.Time) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.replayed(selection))), nil
}

// AddReplay makes the events pending at once, so no replay is unfinished.
func (s *Store) AddReplay(
	_ context.Context, _ string, selection studio.ReplaySelection, key studio.IdempotencyKey, now time.Time, _ int,
) (events int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	userID := selection.Filter.UserID
	if use, err := s.used(userID, key); !errors.Is(err, studio.ErrNotFound) {
		return use.events, err
	}
	all := s.replayed(selection)
	for _, e := range all {
		e.State, e.Reason, e.Tries, e.EndedAt = studio.EventPending, "", 0, time.Time{}
	}
	if key.Key != "" {
		s.keys[pair{userID, key.Key}] = keyUse{fingerprint: key.Fingerprint, events: int64(len(all)), at: now}
	}
	return int64(len(all)), nil
}
