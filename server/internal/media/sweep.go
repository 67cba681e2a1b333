package media

import (
	"context"
	"path"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/media/bucket"
)

// Sweep erases the files that are older than grace and for which needed returns false, and what a crash may leave of a
// write: temporary files and empty directories, or parts of uploads to S3. needed returns false for the names of these,
// which end with [bucket.Temporary], unless others may have written them. It ends at the first error. grace must exceed
// the time between the beginning of a write and writing the record that refers to the file.
func (s *Store) Sweep(ctx context.Context, grace time.Duration, needed func(ctx context.Context, key string) (bool, error)) error {
	s.taken.Store(false)
	before := s.cfg.Now().Add(-grace)
	err := s.ForEach(ctx, "", func(object bucket.Object) error {
		if !object.Modified.Before(before) {
			return nil
		}
		if !isTemporary(object.Key) {
			if keep, err := needed(ctx, object.Key); err != nil || keep {
				return err
			}
		}
		return s.bucket.Delete(ctx, object.Key)
	})
	if err != nil {
		return err
	}
	return s.bucket.Clean(ctx, before, func(key string) (bool, error) {
		return needed(ctx, key+bucket.Temporary) // the file itself may be needed, but not what is left of writing it
	})
}

// isTemporary reports whether a crash has left a file of CheckWritable or of the first start.
func isTemporary(key string) bool {
	probe, _ := path.Match("probe-*"+bucket.Temporary, key)
	mark, _ := path.Match(Mark+".*"+bucket.Temporary, key)
	return probe || mark
}
