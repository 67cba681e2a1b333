package media

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
)

// Sweep erases the files that are older than grace and for which needed returns false, and what a crash may leave of a
// write: temporary files and empty directories, or parts of uploads to S3. It ends at the first error. grace must exceed
// the time between the beginning of a write and writing the record that refers to the file.
func (s *Store) Sweep(ctx context.Context, grace time.Duration, needed func(ctx context.Context, key string) (bool, error)) error {
	before := s.cfg.Now().Add(-grace)
	err := s.ForEach(ctx, "", func(object *blob.ListObject) error {
		if !object.ModTime.Before(before) {
			return nil
		}
		keep, err := needed(ctx, object.Key)
		if err != nil || keep {
			return err
		}
		return s.remove(ctx, object.Key)
	})
	if err != nil {
		return err
	}
	if s.dir != "" {
		return s.removeDirectories(before)
	}
	return s.abortUploads(ctx, before)
}

// removeDirectories removes empty directories that have not changed since a time.
func (s *Store) removeDirectories(before time.Time) error {
	names, err := fs.Glob(os.DirFS(s.dir), "*/*")
	for _, name := range names {
		name = filepath.Join(s.dir, filepath.FromSlash(name))
		if info, err := os.Lstat(name); err == nil && info.IsDir() && info.ModTime().Before(before) {
			_ = os.Remove(name) // fails if the directory is not empty
		}
	}
	return err
}

// abortUploads aborts uploads to S3 in several parts that began before a time. Other object stores do it themselves.
func (s *Store) abortUploads(ctx context.Context, before time.Time) error {
	var client *s3.Client
	if !s.bucket.As(&client) {
		return nil
	}
	address, err := url.Parse(s.cfg.Bucket)
	if err != nil {
		return err
	}
	prefix := address.Query().Get("prefix")
	pages := s3.NewListMultipartUploadsPaginator(client, &s3.ListMultipartUploadsInput{Bucket: &address.Host, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, upload := range page.Uploads {
			if upload.Initiated == nil || !upload.Initiated.Before(before) {
				continue
			}
			_, err := client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &address.Host, Key: upload.Key, UploadId: upload.UploadId})
			if _, ended := errors.AsType[*s3types.NoSuchUpload](err); err != nil && !ended {
				return err
			}
		}
	}
	return nil
}
