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
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/media/bucket"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Config configures a [Store]. Bucket, PublicURL and Key are required.
type Config struct {
	// Bucket is the location of a [bucket.Bucket]. The first write creates a directory.
	Bucket string
	// PublicURL is the URL at which clients reach the Store's handler, without [Path].
	PublicURL string
	// Key is the HMAC key that signs the URLs of files that the service serves itself.
	Key []byte
	// Places makes the bucket that of its installation; see [Store.Take]. It remembers a directory, so that Open makes
	// none anew that is gone. If nil, Open makes nothing, and the bucket may be anybody's.
	Places Places
	// Now returns the current time. Default [time.Now].
	Now func() time.Time
}

// Store is a [studio.Media] that stores files in a bucket. It is safe for concurrent use.
type Store struct {
	cfg    Config
	bucket bucket.Bucket
	dir    string // directory of the bucket, or "" for an object store

	name  string      // see Name
	owner Owner       // or nil; see Take
	taken atomic.Bool // an object store, whose Mark need not be read before each call
}

var _ studio.Media = (*Store)(nil)

// urlLifetime is how long a URL is valid. Object stores have limits of their own, such as 7 days in S3.
const urlLifetime = 24 * time.Hour

// Open opens the bucket. The caller must call Close.
func Open(ctx context.Context, cfg Config) (s *Store, err error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if len(cfg.Key) == 0 {
		return nil, errors.New("media: a key is required")
	}
	s = &Store{cfg: cfg}
	if s.bucket, err = bucket.Open(cfg.Bucket); err != nil {
		return nil, err
	}
	s.name = s.bucket.Location()
	installation, known := "", false
	if cfg.Places != nil {
		if installation, err = cfg.Places.InstallationID(ctx); err == nil {
			known, err = cfg.Places.KnowsPlace(ctx, s.name)
		}
		if err != nil {
			return nil, err
		}
		s.owner = FilesOf(installation)
	}
	directory, ok := s.bucket.(bucket.Directory)
	if !ok {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		if err = s.checkMark(ctx, ""); !errors.Is(err, ErrOther) {
			err = nil // later calls ask again
		}
		return s, err
	}
	directory = directory.Resolve() // Overlaps compares the paths
	s.bucket, s.dir = directory, directory.Path()
	if cfg.Places != nil {
		if err = s.take(ctx, known); err == nil && !known { // otherwise the next start would miss it
			err = cfg.Places.AddPlace(ctx, s.name)
		}
	}
	return s, err
}

// Overlaps reports whether one of two buckets contains the other, so that Sweep may erase its files.
func (s *Store) Overlaps(other *Store) bool {
	a, b := s.bucket.Location(), other.bucket.Location()
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// Close closes the bucket.
func (s *Store) Close() error { return s.bucket.Close() }

// Write implements [studio.Media]. If it fails, the previous content of key is unchanged.
func (s *Store) Write(ctx context.Context, key string, content io.Reader) error {
	from := &source{Reader: content}
	err := s.checkMark(ctx, key)
	if err == nil {
		err = s.bucket.Write(ctx, key, contentType(key), from)
	}
	return cmp.Or(from.err, unavailable(err))
}

// Open implements [studio.Media]. If there is no file, it returns [studio.ErrNotFound].
func (s *Store) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	f, err := s.open(ctx, key)
	if err != nil {
		return nil, err
	}
	return content{f}, nil
}

func (s *Store) open(ctx context.Context, key string) (bucket.File, error) {
	f, err := s.bucket.Open(ctx, key)
	if errors.Is(err, studio.ErrNotFound) {
		err = cmp.Or(s.checkMark(ctx, key), err)
	}
	return f, unavailable(err)
}

// Erase implements [studio.Media].
func (s *Store) Erase(ctx context.Context, prefix string) error {
	return unavailable(s.ForEach(ctx, prefix, func(object bucket.Object) error { return s.bucket.Delete(ctx, object.Key) }))
}

// ForEach calls do for each file whose key has the prefix.
func (s *Store) ForEach(ctx context.Context, prefix string, do func(bucket.Object) error) error {
	if err := s.checkMark(ctx, ""); err != nil {
		return err
	}
	for object, err := range s.bucket.List(ctx, prefix) {
		if err == nil && object.Key != Mark {
			err = do(object)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// URL implements [studio.Media]. Object stores that can sign URLs serve the file themselves. The service
// serves all other files.
func (s *Store) URL(key string) (address string, expires time.Time) {
	expires = s.cfg.Now().UTC().Add(urlLifetime).Truncate(time.Second)
	if signed, err := s.bucket.URL(context.Background(), key, urlLifetime); err == nil {
		return signed, expires
	}
	at := fmt.Sprint(expires.Unix())
	query := url.Values{"expires": {at}, "signature": {s.sign(key, at)}}
	return strings.TrimSuffix(s.cfg.PublicURL, "/") + Path + key + "?" + query.Encode(), expires
}
