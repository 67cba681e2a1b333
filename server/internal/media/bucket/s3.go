package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

const (
	// defaultStallTimeout bounds each wait for an object store, such as that for a part of a file.
	defaultStallTimeout = 2 * time.Minute
	// tries is how often a request is sent that fails. They take at most 3 seconds more than the requests.
	tries = 3

	amazon = "https://s3.amazonaws.com"
)

var (
	errStalled = errors.New("the object store does not respond")
	errAnswer  = errors.New("the object store does not send what was requested")
)

// S3 is the part of a bucket of an object store whose keys begin with a prefix.
type S3 struct {
	// StallTimeout is how long each wait for the object store may take.
	StallTimeout time.Duration

	client    minio.Core
	transport *http.Transport
	location  string
	bucket    string
	prefix    string // "", or ends with a slash
}

var _ Bucket = (*S3)(nil)

func openS3(location string) (*S3, error) {
	address, err := url.Parse(location)
	if err != nil || address.Scheme != "s3" || address.User != nil {
		return nil, ErrLocation
	}
	if err := s3utils.CheckValidBucketName(address.Host); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLocation, err)
	}
	query := address.Query()
	for name := range query {
		if name != "region" && name != "endpoint" {
			return nil, fmt.Errorf("%w: there is no option %q", ErrLocation, name)
		}
	}
	endpoint, err := url.Parse(cmp.Or(query.Get("endpoint"), amazon))
	if err != nil || endpoint.Host == "" || strings.Trim(endpoint.Path, "/") != "" || endpoint.Scheme != "https" && endpoint.Scheme != "http" {
		return nil, fmt.Errorf("%w: the endpoint must have the form https://HOST", ErrLocation)
	}
	region := cmp.Or(query.Get("region"), os.Getenv("AWS_REGION"))
	if region == "" && !query.Has("endpoint") {
		return nil, fmt.Errorf("%w: the region is missing", ErrLocation)
	}
	prefix := strings.TrimPrefix(strings.Trim(address.Path, "/")+"/", "/") // "" for "/"
	s := &S3{bucket: address.Host, prefix: prefix, StallTimeout: defaultStallTimeout}
	s.location = "s3://" + s.bucket + "\n" + endpoint.Host + "\n" + s.prefix
	if s.transport, err = minio.DefaultTransport(endpoint.Scheme == "https"); err != nil {
		return nil, err
	}
	s.client.Client, err = minio.New(endpoint.Host, &minio.Options{
		Creds: newCredentials(), Secure: endpoint.Scheme == "https", Region: cmp.Or(region, "us-east-1"), Transport: skeptic{s.transport}, MaxRetries: tries,
	})
	return s, err
}

// skeptic is a transport that makes 502 of a 404 or a listing of another server, such as a proxy without a backend: the
// file may exist, and the bucket need not be empty.
type skeptic struct{ *http.Transport }

func (s skeptic) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := s.Transport.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusSwitchingProtocols {
		return nil, errors.Join(errAnswer, response.Body.Close()) // it is the connection, which does not end with the context
	}
	if err == nil && (response.StatusCode == http.StatusNotFound || r.URL.Query().Has("prefix")) &&
		!strings.Contains(response.Header.Get("Content-Type"), "xml") {
		response.StatusCode, response.Status = http.StatusBadGateway, "502 in place of an answer without XML"
	}
	return response, err
}

// newCredentials returns the credentials of the environment, which is read at once because the daemon removes secrets
// from it, and otherwise those of the shared file or of the role of the machine or container, which are renewed.
func newCredentials() *credentials.Credentials {
	env := credentials.NewEnvAWS()
	if value, err := env.GetWithContext(nil); err == nil && value.AccessKeyID != "" {
		return env
	}
	return credentials.NewChainCredentials([]credentials.Provider{new(credentials.FileAWSCredentials), new(credentials.IAM)})
}

// Location implements [Bucket].
func (s *S3) Location() string { return s.location }

// Close implements [Bucket].
func (s *S3) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// waits returns a context that ends while bound runs a call for longer than the stall timeout. bound must not be called
// concurrently. The caller must call cancel.
func (s *S3) waits(ctx context.Context) (_ context.Context, bound func(call func() error) error, cancel context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	timer := time.AfterFunc(s.StallTimeout, func() { end(errStalled) })
	timer.Stop()
	bound = func(call func() error) error {
		timer.Reset(s.StallTimeout)
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

// Delete implements [Bucket].
func (s *S3) Delete(ctx context.Context, key string) error {
	ctx, bound, cancel := s.waits(ctx)
	defer cancel()
	err := bound(func() error { return s.client.RemoveObject(ctx, s.bucket, s.prefix+key, minio.RemoveObjectOptions{}) })
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey { // not the answer of Amazon
		err = nil
	}
	return err
}

// List implements [Bucket]. A listing that ignores the prefix is an error, because the caller may delete what it lists,
// and so is one that begins anew, as it would not end.
func (s *S3) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		ctx, bound, cancel := s.waits(ctx)
		defer cancel() // ends the goroutine of the pages
		next, stop := iter.Pull(s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true}))
		defer stop()
		for first := ""; ; {
			var object minio.ObjectInfo
			var more bool
			err := bound(func() error {
				object, more = next()
				return cmp.Or(object.Err, ctx.Err())
			})
			if err == nil && !more {
				return
			}
			if err == nil && (!strings.HasPrefix(object.Key, s.prefix+prefix) || object.Key == first) {
				err = errAnswer
			}
			first = cmp.Or(first, object.Key)
			if !yield(Object{strings.TrimPrefix(object.Key, s.prefix), object.Size, object.LastModified}, err) || err != nil {
				return
			}
		}
	}
}

// Clean implements [Bucket]. It aborts uploads in several parts.
func (s *S3) Clean(ctx context.Context, before time.Time, needed func(key string) (bool, error)) error {
	ctx, bound, cancel := s.waits(ctx)
	defer cancel()
	for page := (minio.ListMultipartUploadsResult{IsTruncated: true}); page.IsTruncated; {
		key, id := page.NextKeyMarker, page.NextUploadIDMarker
		if err := bound(func() (err error) {
			page, err = s.client.ListMultipartUploads(ctx, s.bucket, s.prefix, key, id, "", 0)
			return err
		}); err != nil {
			return err
		}
		if page.IsTruncated && page.NextKeyMarker == key && page.NextUploadIDMarker == id {
			return errAnswer
		}
		for _, upload := range page.Uploads {
			if !strings.HasPrefix(upload.Key, s.prefix) {
				return errAnswer
			}
			if upload.Initiated.IsZero() || !upload.Initiated.Before(before) {
				continue
			}
			if keep, err := needed(strings.TrimPrefix(upload.Key, s.prefix)); err != nil {
				return err
			} else if keep {
				continue
			}
			err := bound(func() error { return s.client.AbortMultipartUpload(ctx, s.bucket, upload.Key, upload.UploadID) })
			if err != nil && minio.ToErrorResponse(err).Code != minio.NoSuchUpload {
				return err
			}
		}
	}
	return nil
}

// URL implements [Bucket]. The object store serves the file.
func (s *S3) URL(ctx context.Context, key string, lifetime time.Duration) (string, error) {
	address, err := s.client.PresignedGetObject(ctx, s.bucket, s.prefix+key, lifetime, nil)
	if err != nil {
		return "", err
	}
	return address.String(), nil
}
