package bucket

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"github.com/minio/minio-go/v7"
)

// partSize is the size of the parts of a large file in bytes. An object store accepts 10,000 parts, or 80 GiB.
const partSize = 8 << 20

// firstRead is the size in bytes up to which a file needs no memory for a whole part.
const firstRead = 64 << 10

// Write implements [Bucket]. It sends a large file in several parts, one after the other, and needs memory for one
// part.
func (s *S3) Write(ctx context.Context, key, contentType string, content io.Reader) error {
	ctx, bound, cancel := s.waits(ctx)
	defer cancel()
	w := &upload{S3: s, key: s.prefix + key, bound: bound, options: minio.PutObjectOptions{ContentType: contentType, DisableContentSha256: true}}
	last, err := w.read(content)
	if err != nil {
		return err
	}
	if last {
		return bound(func() error {
			stored, err := s.client.PutObject(ctx, s.bucket, w.key, bytes.NewReader(w.part.Bytes()), int64(w.part.Len()), "", w.digest(), w.options)
			if err == nil && stored.ETag == "" { // the answer of another server, which has stored nothing
				err = errAnswer
			}
			return err
		})
	}
	if err := bound(func() (err error) {
		w.id, err = s.client.NewMultipartUpload(ctx, s.bucket, w.key, w.options)
		return err
	}); err != nil {
		return err
	}
	if err := w.sendParts(ctx, content); err != nil {
		ctx, bound, cancel := s.waits(context.WithoutCancel(ctx))
		defer cancel()
		return errors.Join(err, bound(func() error { return s.client.AbortMultipartUpload(ctx, s.bucket, w.key, w.id) }))
	}
	return nil
}

// upload is a write.
type upload struct {
	*S3

	key, id string
	options minio.PutObjectOptions
	bound   func(call func() error) error

	part bytes.Buffer
	sent []minio.CompletePart
}

// read reads a part. last reports whether it is the last one.
func (w *upload) read(content io.Reader) (last bool, err error) {
	w.part.Reset()
	_, err = io.CopyN(&w.part, content, firstRead)
	if err == nil {
		w.part.Grow(partSize - firstRead + bytes.MinRead) // once, with the space that CopyN wants to find at the end
		_, err = io.CopyN(&w.part, content, partSize-firstRead)
	}
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}

// digest returns the digest of the part, which the request signs and the object store checks. The client would
// otherwise sign each chunk of a request, which not all object stores understand.
func (w *upload) digest() string {
	sum := sha256.Sum256(w.part.Bytes())
	return hex.EncodeToString(sum[:])
}

// sendParts sends the part that was read and all others.
func (w *upload) sendParts(ctx context.Context, content io.Reader) (err error) {
	for last := false; w.part.Len() > 0; {
		number := len(w.sent) + 1
		if err = w.bound(func() error {
			part, err := w.client.PutObjectPart(ctx, w.bucket, w.key, w.id, number, bytes.NewReader(w.part.Bytes()), int64(w.part.Len()), minio.PutObjectPartOptions{Sha256Hex: w.digest(), DisableContentSha256: true})
			w.sent = append(w.sent, minio.CompletePart{PartNumber: number, ETag: part.ETag})
			return err
		}); err != nil {
			return err
		}
		if last {
			break
		}
		if last, err = w.read(content); err != nil {
			return err
		}
	}
	return w.bound(func() error {
		_, err := w.client.CompleteMultipartUpload(ctx, w.bucket, w.key, w.id, w.sent, w.options)
		return err
	})
}
