// Package bucket stores files in a directory or in a bucket of an object store that speaks the protocol of Amazon S3.
package bucket

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"time"
)

// ErrLocation means that a text does not name a bucket.
var ErrLocation = errors.New("a bucket must have the form file:DIRECTORY or s3://BUCKET/PREFIX?region=…&endpoint=…")

// Object describes a file.
type Object struct {
	Key      string // parts are separated by slashes
	Size     int64  // in bytes
	Modified time.Time
}

// File is the content of an open file. That of a directory is an [os.File], which the kernel can send.
type File struct {
	io.ReadSeekCloser

	Size     int64 // in bytes
	Modified time.Time
}

// A Bucket stores files. Its methods may be called concurrently.
type Bucket interface {
	// Location returns a text that the locations of all files begin with.
	Location() string
	// Open opens a file. It returns [studio.ErrNotFound] if there is none.
	Open(ctx context.Context, key string) (File, error)
	// Write creates or replaces a file. A write that fails changes nothing.
	Write(ctx context.Context, key, contentType string, content io.Reader) error
	// Delete deletes a file. Deleting one that does not exist is no error.
	Delete(ctx context.Context, key string) error
	// List returns the files whose keys begin with prefix. It ends at the first error.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// Clean removes what writes have left that began before a time and were killed, unless List returns it. It asks
	// whether a key is needed, which ends with a slash for a directory.
	Clean(ctx context.Context, before time.Time, needed func(key string) (bool, error)) error
	// URL returns a URL at which anybody can read a file for a time, or [errors.ErrUnsupported].
	URL(ctx context.Context, key string, lifetime time.Duration) (string, error)
	// Close closes idle connections.
	Close() error
}

// Open opens a bucket at file:DIRECTORY or s3://BUCKET/PREFIX. It sends no request. The query of s3: has the region, by
// default that of the environment variable AWS_REGION, and the URL of the endpoint, by default that of Amazon.
func Open(location string) (Bucket, error) {
	if dir, ok := strings.CutPrefix(location, filePrefix); ok {
		return openDirectory(dir)
	}
	return openS3(location)
}
