// Package media keeps the files of inputs and results in a bucket: a directory, or one of an
// object store. It gives out addresses that expire, and serves those of a directory itself.
package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/gcerrors"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Config says where files are kept. Bucket, PublicURL and Key are required.
type Config struct {
	// Bucket is file:DIRECTORY, which is made as needed, or the URL of a bucket whose driver is
	// linked, such as s3://BUCKET?region=….
	Bucket string
	// PublicURL is where [Store.Handler] is reached, without Path.
	PublicURL string
	// Key signs the addresses that the service serves itself.
	Key []byte
	// TTL is how long an address works. Default 24 hours.
	TTL time.Duration
	// Now tells the time. Default [time.Now].
	Now func() time.Time
}

// Store keeps files. It is safe for concurrent use.
type Store struct {
	cfg    Config
	bucket *blob.Bucket
	dir    string // of a file bucket
}

var _ studio.Media = (*Store)(nil)

const filePrefix = "file:"

// Open opens a bucket.
func Open(ctx context.Context, cfg Config) (s *Store, err error) {
	if cfg.TTL <= 0 {
		cfg.TTL = 24 * time.Hour
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if len(cfg.Key) == 0 {
		return nil, errors.New("media: a key is required")
	}
	s = &Store{cfg: cfg}
	dir, isFile := strings.CutPrefix(cfg.Bucket, filePrefix)
	if !isFile {
		s.bucket, err = blob.OpenBucket(ctx, cfg.Bucket)
		return s, err
	}
	if dir == "" || strings.HasPrefix(dir, "//") {
		return nil, errors.New("media: a directory is written file:DIRECTORY")
	}
	if s.dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	// Temporary files lie beside the others, so that they can be renamed. Sweep finds those that
	// a crash leaves.
	s.bucket, err = fileblob.OpenBucket(s.dir, &fileblob.Options{
		CreateDir: true, DirFileMode: 0o700, NoTempDir: true, Metadata: fileblob.MetadataDontWrite,
	})
	return s, err
}

// Close closes the bucket.
func (s *Store) Close() error { return s.bucket.Close() }

// Write implements [studio.Media].
func (s *Store) Write(ctx context.Context, key string, content io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before Close, it discards what was written
	w, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{ContentType: contentType(key)})
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, content); err != nil {
		cancel()
		return errors.Join(err, ignoreCanceled(w.Close()))
	}
	if err := w.Close(); err != nil {
		return err
	}
	return s.sync(key)
}

func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) || gcerrors.Code(err) == gcerrors.Canceled {
		return nil
	}
	return err
}

// sync makes a file of a directory survive a power failure, as rows of the database do.
func (s *Store) sync(key string) error {
	if s.dir == "" {
		return nil
	}
	name := filepath.Join(s.dir, filepath.FromSlash(key))
	for _, name := range []string{name, filepath.Dir(name)} {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		if err := errors.Join(file.Sync(), file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Open implements [studio.Media].
func (s *Store) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	f, err := s.open(ctx, key)
	if err != nil {
		return nil, err
	}
	return f.content, nil
}

// file is an open file.
type file struct {
	content  io.ReadSeekCloser // an [os.File] of a directory, which the kernel can send by itself
	size     int64
	modified time.Time
}

func (s *Store) open(ctx context.Context, key string) (file, error) {
	if s.dir != "" {
		name, err := filepath.Localize(key)
		if err != nil {
			return file{}, studio.ErrNotFound
		}
		return openFile(filepath.Join(s.dir, name))
	}
	r, err := s.bucket.NewReader(ctx, key, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		err = studio.ErrNotFound
	}
	if err != nil {
		return file{}, err
	}
	return file{r, r.Size(), r.ModTime()}, nil
}

func openFile(name string) (file, error) {
	content, err := os.Open(name) //nolint:gosec // below the directory, see open
	if errors.Is(err, os.ErrNotExist) {
		err = studio.ErrNotFound
	}
	if err != nil {
		return file{}, err
	}
	info, err := content.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = studio.ErrNotFound
	}
	if err != nil {
		return file{}, errors.Join(err, content.Close())
	}
	return file{content, info.Size(), info.ModTime()}, nil
}

// Erase implements [studio.Media].
func (s *Store) Erase(ctx context.Context, prefix string) error {
	return s.each(ctx, prefix, func(object *blob.ListObject) error { return s.remove(ctx, object.Key) })
}

func (s *Store) remove(ctx context.Context, key string) error {
	err := s.bucket.Delete(ctx, key)
	if gcerrors.Code(err) == gcerrors.NotFound {
		err = nil
	}
	if s.dir != "" && strings.Contains(key, "/") {
		_ = os.Remove(filepath.Join(s.dir, filepath.FromSlash(path.Dir(key)))) // when it is empty
	}
	return err
}

func (s *Store) each(ctx context.Context, prefix string, do func(*blob.ListObject) error) error {
	list := s.bucket.List(&blob.ListOptions{Prefix: prefix})
	for {
		object, err := list.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(object)
		}
		if err != nil {
			return err
		}
	}
}

// Sweep erases the files that are older than grace and that nothing needs.
func (s *Store) Sweep(ctx context.Context, grace time.Duration, needed func(ctx context.Context, key string) (bool, error)) error {
	before := s.cfg.Now().Add(-grace)
	return s.each(ctx, "", func(object *blob.ListObject) error {
		if !object.ModTime.Before(before) {
			return nil
		}
		keep, err := needed(ctx, object.Key)
		if err != nil || keep {
			return err
		}
		return s.remove(ctx, object.Key)
	})
}

// URL implements [studio.Media]. A bucket that can sign serves the file itself.
func (s *Store) URL(key string) (address string, expires time.Time) {
	expires = s.cfg.Now().UTC().Add(s.cfg.TTL).Truncate(time.Second)
	if s.dir == "" {
		signed, err := s.bucket.SignedURL(context.Background(), key, &blob.SignedURLOptions{Expiry: s.cfg.TTL})
		if err == nil {
			return signed, expires
		}
	}
	at := fmt.Sprint(expires.Unix())
	query := url.Values{"expires": {at}, "signature": {s.sign(key, at)}}
	return strings.TrimSuffix(s.cfg.PublicURL, "/") + Path + key + "?" + query.Encode(), expires
}
