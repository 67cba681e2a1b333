package studio

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"time"
)

// DeletionMemory is how long a deletion may be repeated.
const DeletionMemory = 24 * time.Hour

// Erased is what a deletion erased from the store, and of which the files are to be erased.
type Erased struct {
	IDs     []string // of subjects
	Uploads []string // keys
}

// Delete erases a subject of the caller's, and with an avatar the videos made from it: what was
// asked for, the uploads that nothing else is made from, what was made, what runs, and the events
// that have not been delivered. Repeating it within
// [DeletionMemory] changes nothing; [ErrNotFound] afterwards and when there is none of this kind.
func (s *Service) Delete(ctx context.Context, userID string, kind Kind, id string) error {
	erased, err := s.Store.DeleteSubject(ctx, userID, kind, id, s.now(), s.now().Add(-DeletionMemory))
	if s.Media == nil {
		return err
	}
	for _, id := range erased.IDs {
		err = errors.Join(err, s.Media.Erase(ctx, resultPrefix(id)))
	}
	for _, key := range erased.Uploads { // a file that is left is swept, because no record refers to it
		err = errors.Join(err, s.Media.Erase(ctx, key))
	}
	return err
}

var uploadKey = regexp.MustCompile(UploadFolder + `/([0-9a-f-]{36})/`)

// UploadIDs returns the ids of the uploads whose addresses are in a request.
func UploadIDs(request []byte) (ids []string) {
	for _, match := range uploadKey.FindAllSubmatch(request, -1) {
		if id := string(match[1]); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
