package studio

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"time"
)

// DeletionMemory is how long a deletion can be repeated.
const DeletionMemory = 24 * time.Hour

// Erased contains the records that a deletion has erased from the store. Their files must then be erased.
type Erased struct {
	IDs     []string // of subjects
	Uploads []string // keys of uploaded files
}

// Delete erases a subject of the user and, if it is an avatar, its videos. It erases their requests, their
// uploads that no other subject uses, their results, their renderings in progress and their undelivered
// events. Repeating a deletion within [DeletionMemory] has no effect. The error is [ErrNotFound] after that,
// and if the user has no such subject of this kind. It is [ErrOtherWorkspace] if the caller is in one workspace, and a video
// of the avatar in another one.
func (s *Service) Delete(ctx context.Context, userID string, kind Kind, id string) error {
	erased, err := s.Store.DeleteSubject(ctx, userID, onlyWorkspace(ctx), kind, id, s.now(), s.now().Add(-DeletionMemory))
	return errors.Join(err, s.eraseFiles(ctx, erased))
}

// eraseFiles erases the files of records. Files that remain after an error are swept later, because no record refers to
// them.
func (s *Service) eraseFiles(ctx context.Context, erased Erased) (err error) {
	if s.Media == nil {
		return nil
	}
	for _, id := range erased.IDs {
		err = errors.Join(err, s.Media.Erase(ctx, resultPrefix(id)))
	}
	for _, key := range erased.Uploads {
		err = errors.Join(err, s.Media.Erase(ctx, key))
	}
	return err
}

var uploadKey = regexp.MustCompile(UploadFolder + `/([0-9a-f-]{36})/`)

// UploadIDs returns the ids of the uploads whose URLs are in a request.
func UploadIDs(request []byte) (ids []string) {
	for _, match := range uploadKey.FindAllSubmatch(request, -1) {
		if id := string(match[1]); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
