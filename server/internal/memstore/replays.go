package memstore

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// replay is the use of an idempotency key for a replay.
type replay struct {
	fingerprint []byte
	events      int64
	at          time.Time
}

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
	name := pair{selection.Filter.UserID, key.Key}
	if used, ok := s.replays[name]; ok && used.at.After(key.After) {
		if !bytes.Equal(used.fingerprint, key.Fingerprint) {
			return 0, studio.ErrKeyReused
		}
		return used.events, nil
	}
	if used, ok := s.keys[name]; ok && used.at.After(key.After) {
		return 0, studio.ErrKeyReused
	}
	all := s.replayed(selection)
	for _, e := range all {
		e.State, e.Reason, e.Tries, e.EndedAt = studio.EventPending, "", 0, time.Time{}
	}
	if key.Key != "" {
		if _, err := find(s.users, name.a); err != nil {
			return 0, err
		}
		s.replays[name] = replay{key.Fingerprint, int64(len(all)), now}
	}
	return int64(len(all)), nil
}
