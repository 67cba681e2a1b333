package media

import (
	"errors"
	"io"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// unavailable returns [studio.Unavailable], unless err is nil or studio.ErrNotFound.
func unavailable(err error) error {
	if err == nil || errors.Is(err, studio.ErrNotFound) {
		return err
	}
	return studio.Unavailable(err)
}

// source is the content of a write. It remembers its error, which is not one of the bucket.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (n int, err error) {
	if n, err = s.Reader.Read(p); err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// content is the content of a file. Its errors wrap [studio.ErrUnavailable].
type content struct{ io.ReadCloser }

func (c content) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = unavailable(err)
	}
	return n, err
}
