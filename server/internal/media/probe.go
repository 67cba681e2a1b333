package media

import (
	"bytes"
	"context"
	"crypto/rand"

	"github.com/avatarstudio/avatarstudio/server/internal/media/bucket"
)

// probeBytes is the size of a probe, which exceeds what a file system stores without a block of its own.
const probeBytes = 4 << 10

// CheckWritable writes a small file and erases it. Larger files may still need more space than there is.
func (s *Store) CheckWritable(ctx context.Context) error {
	s.taken.Store(false)
	key := "probe-" + rand.Text() + bucket.Temporary // backups skip it, and Sweep erases what a crash leaves
	if err := s.Write(ctx, key, bytes.NewReader(make([]byte, probeBytes))); err != nil {
		return err
	}
	return unavailable(s.bucket.Delete(ctx, key))
}
