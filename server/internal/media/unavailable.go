package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// defaultStallTimeout bounds each wait for an object store. The end of a write waits for up to five parts of 8 MiB.
const defaultStallTimeout = 2 * time.Minute

var errStalled = errors.New("the object store does not respond")

// unavailable returns an error that wraps [studio.ErrUnavailable] and err, unless err is nil or studio.ErrNotFound.
func unavailable(err error) error {
	if err == nil || errors.Is(err, studio.ErrNotFound) {
		return err
	}
	return fmt.Errorf("%w: %w", studio.ErrUnavailable, err)
}

// isNotFound reports whether an error of the bucket means that it does not have a key. A bucket that does not exist has the
// same code.
func isNotFound(err error) bool {
	var response interface{ ErrorCode() string }
	return gcerrors.Code(err) == gcerrors.NotFound && (!errors.As(err, &response) || response.ErrorCode() != "NoSuchBucket")
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

// stoppable returns a context that ends while bound runs a call for longer than the stall timeout, unless the bucket is a
// directory. bound must not be called concurrently. The caller must call cancel.
func (s *Store) stoppable(ctx context.Context) (_ context.Context, bound func(call func() error) error, cancel context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	timer := time.AfterFunc(s.stallTimeout, func() { end(errStalled) })
	timer.Stop()
	bound = func(call func() error) error {
		if s.dir != "" {
			return call()
		}
		timer.Reset(s.stallTimeout)
		defer timer.Stop()
		err := call()
		if cause := context.Cause(ctx); err != nil && errors.Is(cause, errStalled) {
			err = cause
		}
		return err
	}
	return ctx, bound, func() {
		timer.Stop()
		end(nil)
	}
}

// boundWriter is a writer of which bound calls Write.
type boundWriter struct {
	io.Writer
	bound func(call func() error) error
}

func (w boundWriter) Write(p []byte) (n int, err error) {
	err = w.bound(func() error {
		n, err = w.Writer.Write(p)
		return err
	})
	return n, err
}

// boundReader is a reader of an object store, whose context ends with Close.
type boundReader struct {
	*blob.Reader
	cancel context.CancelFunc
}

func (r boundReader) Close() error {
	defer r.cancel()
	return r.Reader.Close()
}
