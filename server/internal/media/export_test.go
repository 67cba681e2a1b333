package media

import (
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/media/bucket"
)

// SetStallTimeout sets how long the store waits for an object store.
func (s *Store) SetStallTimeout(d time.Duration) {
	s.bucket.(*bucket.S3).StallTimeout = d //nolint:forcetypeassert // it panics for a directory
}
