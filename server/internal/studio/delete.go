package studio

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"time"
)

// DeletionMemory is how long a deletion can be repeated.
const DeletionMemory = 24 * time.Hour

// maxErasure bounds how long a deletion takes, because its caller waits for it.
const maxErasure = 20 * time.Second

// Erased contains the records that a deletion has erased from the store. Their files must then be erased.
type Erased struct {
	IDs     []string // of subjects
	Uploads []string // keys of uploaded files
	More    bool     // whether a task has more to do; see [TaskStore]
}

// TaskStore does work on many rows in batches, each in a short transaction; see [DatabaseStore]. So another process can
// finish what the first one did not.
type TaskStore interface {
	// NextBatch does the next batch of a task. It does nothing if there is none with this id. Concurrent calls wait for
	// each other.
	NextBatch(ctx context.Context, id string, now time.Time) (Erased, error)
	// DueTask returns the id of a task that is unfinished at now although the process that began it should have
	// finished it. The error is [ErrNotFound] if there is none.
	DueTask(ctx context.Context, now time.Time) (id string, err error)
}

// finish finishes a task. If it fails, a daemon finishes the task later.
func (s *Service) finish(ctx context.Context, id string) (err error) {
	for more := true; more; {
		erased, batchErr := s.database.NextBatch(ctx, id, s.now())
		if batchErr = cmp.Or(batchErr, ctx.Err()); batchErr != nil {
			return batchErr
		}
		err = cmp.Or(err, s.eraseFiles(ctx, erased)) // the records are erased even if the files cannot be
		more = erased.More
	}
	return err
}

// FinishTasks finishes the tasks that are due.
func (s *Service) FinishTasks(ctx context.Context) error {
	for {
		id, err := s.database.DueTask(ctx, s.now())
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err == nil {
			err = s.finish(ctx, id)
		}
		if err != nil {
			return err
		}
	}
}

// Delete erases a subject of the user and, if it is an avatar, its videos. It erases their requests, their
// uploads that no other subject uses, their results, their renderings in progress and their undelivered
// events. Repeating a deletion within [DeletionMemory] has no effect. The error is [ErrNotFound] after that,
// and if the user has no such subject of this kind. It is [ErrOtherWorkspace] if the caller is in one workspace, and a
// video of the avatar in another one. Delete erases the videos of an avatar in batches. If it fails, a daemon erases
// the rest.
func (s *Service) Delete(ctx context.Context, userID string, kind Kind, id string) error {
	erased, err := s.Store.DeleteSubject(ctx, userID, onlyWorkspace(ctx), kind, id, s.now(), s.now().Add(-DeletionMemory))
	err = errors.Join(err, s.eraseFiles(ctx, erased))
	if err == nil && erased.More {
		finishing, cancel := context.WithTimeout(ctx, maxErasure)
		defer cancel()
		if err = s.finish(finishing, id); errors.Is(err, context.DeadlineExceeded) {
			err = ErrBusy
		}
	}
	return err
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
