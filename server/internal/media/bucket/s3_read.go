package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/minio/minio-go/v7"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Open implements [Bucket].
func (s *S3) Open(ctx context.Context, key string) (File, error) {
	ctx, bound, cancel := s.waits(ctx)
	r := &reader{bound: bound, cancel: cancel}
	var info minio.ObjectInfo
	r.get = func() (body io.ReadCloser, err error) {
		var options minio.GetObjectOptions
		var header http.Header
		if r.offset > 0 {
			options.Set("Range", fmt.Sprintf("bytes=%d-", r.offset))
		}
		if info.ETag != "" { // not the first request
			err = options.SetMatchETag(info.ETag)
		}
		if err == nil {
			body, info, header, err = s.client.GetObject(ctx, s.bucket, s.prefix+key, options)
		}
		isPart := header.Get("Content-Range") != ""
		if err == nil && (info.Size < 0 || isPart != (r.offset > 0) || r.size > 0 && info.Size != r.size-r.offset) {
			err = errors.Join(errAnswer, body.Close())
		}
		return body, err
	}
	err := bound(func() (err error) {
		r.body, err = r.get()
		return err
	})
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey { // and not NoSuchBucket
		err = studio.ErrNotFound
	}
	if err != nil {
		cancel()
		return File{}, err
	}
	r.size = info.Size
	return File{r, info.Size, info.LastModified}, nil
}

// reader reads an object. After Seek, it requests the rest.
type reader struct {
	get    func() (io.ReadCloser, error) // from the offset
	bound  func(call func() error) error
	cancel context.CancelFunc

	body         io.ReadCloser // at the offset, or nil
	offset, size int64
}

func (r *reader) Read(p []byte) (n int, err error) {
	if r.offset >= r.size {
		return 0, io.EOF
	}
	err = r.bound(func() (err error) {
		if r.body == nil {
			if r.body, err = r.get(); err != nil {
				return err
			}
		}
		n, err = r.body.Read(p)
		return err
	})
	r.offset += int64(n)
	if errors.Is(err, io.EOF) && r.offset < r.size {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (r *reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.offset
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("the offset is negative")
	}
	var err error
	if offset != r.offset && r.body != nil && offset < r.size {
		r.body, err = nil, r.body.Close()
	}
	r.offset = offset
	return offset, err
}

// Close ends the request.
func (r *reader) Close() error {
	r.cancel()
	if r.body == nil {
		return nil
	}
	return r.body.Close()
}
