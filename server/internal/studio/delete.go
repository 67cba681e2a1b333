package studio

import (
	"context"
	"errors"
	"time"
)

// DeletionMemory is how long a deletion may be repeated.
const DeletionMemory = 24 * time.Hour

// Delete erases a subject of the caller's, and with an avatar the videos made from it: what was
// asked for, what was made, what runs, and the events that have not been delivered. Repeating it within
// [DeletionMemory] changes nothing; [ErrNotFound] afterwards and when there is none of this kind.
func (s *Service) Delete(ctx context.Context, userID string, kind Kind, id string) error {
	ids, err := s.Store.DeleteSubject(ctx, userID, kind, id, s.now(), s.now().Add(-DeletionMemory))
	if s.Media == nil {
		return err
	}
	for _, id := range ids {
		err = errors.Join(err, s.Media.Erase(ctx, resultPrefix(id)))
	}
	return err
}
