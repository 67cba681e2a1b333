// Package media stores the files of inputs and results in a bucket. A bucket is a directory, or a bucket of
// an object store such as S3. The package returns signed URLs that expire. It serves the files of a
// directory itself, and object stores serve theirs.
package media

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/gcerrors"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Config configures a [Store]. Bucket, PublicURL and Key are required.
type Config struct {
	// Bucket is file:DIRECTORY, which is created if needed, or the URL of a bucket whose driver is linked
	// into the program, such as s3://BUCKET?region=….
	Bucket string
	// PublicURL is the URL at which clients reach the Store's handler, without [Path].
	PublicURL string
	// Key is the HMAC key that signs the URLs of files that the service serves itself.
	Key []byte
	// Places remembers a directory, so that Open returns [ErrGone] instead of making one that is gone anew, and later calls
	// return it while the directory is gone. If nil, a directory is made if it does not exist.
	Places Places
	// Now returns the current time. Default [time.Now].
	Now func() time.Time
}

// Store is a [studio.Media] that stores files in a bucket. It is safe for concurrent use.
type Store struct {
	stallTimeout time.Duration // see stoppable

	cfg    Config
	bucket *blob.Bucket
	dir    string // directory of the bucket, or "" for an object store

	name    string // see Name
	guarded bool   // see Guard

	signers *sync.Pool
}

var _ studio.Media = (*Store)(nil)

const (
	filePrefix = "file:"
	// urlLifetime is how long a URL is valid. Object stores have limits of their own, such as 7 days in S3.
	urlLifetime = 24 * time.Hour
)

// Open opens the bucket. The caller must call Close.
func Open(ctx context.Context, cfg Config) (s *Store, err error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if len(cfg.Key) == 0 {
		return nil, errors.New("media: a key is required")
	}
	s = &Store{cfg: cfg, signers: newSigners(cfg.Key), stallTimeout: defaultStallTimeout}
	dir, isFile := strings.CutPrefix(cfg.Bucket, filePrefix)
	if !isFile {
		s.name = s.location()
		s.bucket, err = blob.OpenBucket(ctx, cfg.Bucket)
		return s, err
	}
	if dir == "" || strings.HasPrefix(dir, "//") {
		return nil, errors.New("media: a directory must have the form file:DIRECTORY")
	}
	if s.dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	s.name = host + " " + s.dir
	if cfg.Places != nil {
		s.Guard()
		known, err := cfg.Places.KnowsPlace(ctx, s.name)
		if known {
			err = s.checkMark("")
		}
		if err != nil {
			return nil, err
		}
	}
	// Temporary files are created in the bucket's directory, so that they can be renamed. Sweep removes
	// those that a crash leaves behind.
	s.bucket, err = fileblob.OpenBucket(s.dir, &fileblob.Options{
		CreateDir: true, DirFileMode: 0o700, NoTempDir: true, Metadata: fileblob.MetadataDontWrite,
	})
	if err != nil {
		return nil, err
	}
	// openDirectly accepts no links.
	s.dir, err = filepath.EvalSymlinks(s.dir)
	if err == nil && cfg.Places != nil {
		err = errors.Join(s.WriteMark(ctx), cfg.Places.AddPlace(ctx, s.name))
	}
	return s, err
}

// Overlaps reports whether one of two buckets contains the other, so that Sweep may erase its files.
func (s *Store) Overlaps(other *Store) bool {
	a, b := s.location(), other.location()
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// location returns a text that the locations of all files in the bucket begin with.
func (s *Store) location() string {
	if s.dir != "" {
		return filePrefix + strings.TrimSuffix(s.dir, string(filepath.Separator)) + string(filepath.Separator)
	}
	address, err := url.Parse(s.cfg.Bucket)
	if err != nil {
		return s.cfg.Bucket
	}
	return address.Scheme + "://" + address.Host + "\n" + address.Query().Get("endpoint") + "\n" + address.Query().Get("prefix")
}

// Close closes the bucket.
func (s *Store) Close() error { return s.bucket.Close() }

// Write implements [studio.Media]. If it fails, the previous content of key is unchanged.
func (s *Store) Write(ctx context.Context, key string, content io.Reader) (err error) {
	from := &source{Reader: content}
	defer func() {
		if err != nil {
			s.removeDirectory(key)
		}
		if err = unavailable(err); from.err != nil {
			err = from.err
		}
	}()
	ctx, bound, cancel := s.stoppable(ctx)
	defer cancel() // cancelling before Close discards the written content
	if err := s.checkMark(key); err != nil {
		return err
	}
	w, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{ContentType: contentType(key), BeforeWrite: makePrivate})
	if err != nil {
		return err
	}
	if _, err := io.Copy(boundWriter{w, bound}, from); err != nil {
		cancel()
		return errors.Join(err, ignoreCanceled(w.Close()))
	}
	if err := bound(w.Close); err != nil {
		return err
	}
	return s.syncFile(key)
}

// makePrivate is the BeforeWrite of a [blob.WriterOptions]. Without it, every user of the machine could read the file.
func makePrivate(as func(any) bool) error {
	var file *os.File
	if !as(&file) { // an object store
		return nil
	}
	return file.Chmod(0o600)
}

func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) || gcerrors.Code(err) == gcerrors.Canceled {
		return nil
	}
	return err
}

// syncFile flushes a file and its directory to disk, so that it survives a power failure as the rows of the
// database do. It does nothing for object stores.
func (s *Store) syncFile(key string) error {
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

// Open implements [studio.Media]. If there is no file, it returns [studio.ErrNotFound].
func (s *Store) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	f, err := s.open(ctx, key)
	if err != nil {
		return nil, err
	}
	return content{f.content}, nil
}

// file is an open file.
type file struct {
	content  io.ReadSeekCloser // an [os.File] if the bucket is a directory, so that the kernel can send it
	size     int64
	modified time.Time
}

func (s *Store) open(ctx context.Context, key string) (_ file, err error) {
	defer func() { err = unavailable(err) }()
	if s.dir != "" {
		name, err := filepath.Localize(key)
		if err != nil {
			return file{}, studio.ErrNotFound
		}
		f, err := openFile(s.dir, name)
		if errors.Is(err, studio.ErrNotFound) {
			err = cmp.Or(s.checkMark(key), err)
		}
		return f, err
	}
	ctx, bound, cancel := s.stoppable(ctx)
	var r *blob.Reader
	err = bound(func() error {
		r, err = s.bucket.NewReader(ctx, key, nil)
		return err
	})
	if isNotFound(err) {
		err = studio.ErrNotFound
	}
	if err != nil {
		cancel()
		return file{}, err
	}
	return file{boundReader{r, cancel}, r.Size(), r.ModTime()}, nil
}

// openFile opens a regular file in a directory. It follows no symbolic link in the directory, because that may lead to any
// file, and does not wait for the writer of a pipe.
func openFile(dir, name string) (f file, err error) {
	defer func() {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			err = studio.ErrNotFound
		}
	}()
	content, err := openDirectly(filepath.Join(dir, name))
	if err != nil {
		content, err = openStepwise(dir, name)
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

// openStepwise opens a file after it has looked for a link in each part of its name.
func openStepwise(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	parts := strings.Split(name, string(filepath.Separator))
	for i := range parts {
		if info, err := root.Lstat(filepath.Join(parts[:i+1]...)); err != nil || info.Mode()&os.ModeSymlink != 0 {
			return nil, cmp.Or[error](err, studio.ErrNotFound)
		}
	}
	return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// Erase implements [studio.Media].
func (s *Store) Erase(ctx context.Context, prefix string) error {
	ctx, bound, cancel := s.stoppable(ctx)
	defer cancel()
	return unavailable(bound(func() error {
		return s.ForEach(ctx, prefix, func(object *blob.ListObject) error { return s.remove(ctx, object.Key) })
	}))
}

func (s *Store) remove(ctx context.Context, key string) error {
	err := s.bucket.Delete(ctx, key)
	if isNotFound(err) {
		err = nil
	}
	s.removeDirectory(key)
	return err
}

// removeDirectory removes the directory of a key if it is empty. It does nothing for object stores.
func (s *Store) removeDirectory(key string) {
	if s.dir != "" && strings.Contains(key, "/") {
		_ = os.Remove(filepath.Join(s.dir, filepath.FromSlash(path.Dir(key)))) // fails if the directory is not empty
	}
}

// ForEach calls do for each object whose key has the prefix.
func (s *Store) ForEach(ctx context.Context, prefix string, do func(*blob.ListObject) error) error {
	if err := s.checkMark(""); err != nil {
		return err
	}
	if err := s.checkReadable(prefix); err != nil {
		return err
	}
	list := s.bucket.List(&blob.ListOptions{Prefix: prefix})
	for {
		object, err := list.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && object.Key != Mark {
			err = do(object)
		}
		if err != nil {
			return err
		}
	}
}

// checkReadable fails if a directory of keys with a prefix cannot be read, which package fileblob takes for an empty one. It
// does nothing for object stores.
func (s *Store) checkReadable(prefix string) error {
	if s.dir == "" {
		return nil
	}
	folder, _ := path.Split(prefix)
	return filepath.WalkDir(filepath.Join(s.dir, filepath.FromSlash(folder)), func(_ string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted in the meantime
			return nil
		case err == nil && entry.IsDir() && entry.Name() == "lost+found": // of the file system
			return fs.SkipDir
		}
		return err
	})
}

// URL implements [studio.Media]. Object stores that can sign URLs serve the file themselves. The service
// serves all other files.
func (s *Store) URL(key string) (address string, expires time.Time) {
	expires = s.cfg.Now().UTC().Add(urlLifetime).Truncate(time.Second)
	if s.dir == "" {
		signed, err := s.bucket.SignedURL(context.Background(), key, &blob.SignedURLOptions{Expiry: urlLifetime})
		if err == nil {
			return signed, expires
		}
	}
	at := fmt.Sprint(expires.Unix())
	query := url.Values{"expires": {at}, "signature": {s.sign(key, at)}}
	return strings.TrimSuffix(s.cfg.PublicURL, "/") + Path + key + "?" + query.Encode(), expires
}
