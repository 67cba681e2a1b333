package studio

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Media stores files by key. A key consists of names separated by slashes. If the place of the files is full or cannot
// be reached, an error wraps [ErrUnavailable].
type Media interface {
	// Write stores content under a key. It replaces an existing file atomically. It returns an error of content as it
	// is.
	Write(ctx context.Context, key string, content io.Reader) error
	// Extension returns the file name extension for a media type, or "" if it is unknown.
	Extension(mediaType string) string
	// Open opens a file. The error is [ErrNotFound] if it does not exist.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	// Erase erases all files whose keys begin with prefix. It is no error if there is none.
	Erase(ctx context.Context, prefix string) error
	// URL returns a URL at which anyone can read a file until expires.
	URL(key string) (url string, expires time.Time)
}

// The first names of keys, for the results of renderings and for uploads.
const (
	ResultFolder = "results"
	UploadFolder = "uploads"
)

// ResultKey returns the key of a result of rendering a subject. Rendering the subject again overwrites the
// same keys.
func ResultKey(subjectID, name string) string { return resultPrefix(subjectID) + name }

func resultPrefix(subjectID string) string { return ResultFolder + "/" + subjectID + "/" }

// ResultURL returns the URL of a result of a subject, or "" if name is empty.
func (s *Service) ResultURL(subjectID, name string) string {
	if name == "" || s.Media == nil {
		return ""
	}
	url, _ := s.Media.URL(ResultKey(subjectID, name))
	return url
}

// MediaNeeded reports whether a record refers to a file, or a rendering may still be writing it, or the service did not
// write it. A file that is not needed may be erased.
func (s *Service) MediaNeeded(ctx context.Context, key string) (bool, error) {
	folder, id, name := splitKey(key)
	if folder != ResultFolder && folder != UploadFolder || uuid.Validate(id) != nil {
		return true, nil //nolint:nilerr // it is somebody else's
	}
	if folder == UploadFolder {
		upload, err := s.Store.Upload(ctx, id)
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return err != nil || upload.Key == key && s.now().Before(upload.ExpiresAt), err
	}
	subject, err := s.Store.Subject(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err != nil || subject.Status == Processing || name != "" && name == subject.Project.CustomThumbnail ||
		slices.Contains(subject.Rendering.FileNames(), name), err
}

// OwnsMedia reports whether a subject may be rendered from a file because of whose it is: an upload of the same user,
// or a result of the same user and workspace.
func (s *Service) OwnsMedia(ctx context.Context, by Subject, key string) (owns bool, err error) {
	folder, id, _ := splitKey(key)
	if folder == UploadFolder {
		var upload Upload
		upload, err = s.Store.Upload(ctx, id)
		owns = upload.UserID == by.UserID
	} else {
		var subject Subject
		subject, err = s.Store.Subject(ctx, id)
		owns = subject.UserID == by.UserID && subject.WorkspaceID == by.WorkspaceID
	}
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && owns, err
}

func splitKey(key string) (folder, id, name string) {
	folder, rest, _ := strings.Cut(key, "/")
	id, name, _ = strings.Cut(rest, "/")
	return folder, id, name
}

// UploadStore stores the records of uploads; see [Store].
type UploadStore interface {
	// AddUpload adds an upload. The error is [ErrTooMuchMedia] if the unexpired uploads of the user would
	// exceed limit bytes in total, and [ErrNotFound] if the user has been deleted.
	AddUpload(ctx context.Context, upload Upload, limit int64) error
	// UploadedBytes returns the total size of the unexpired uploads of a user, in bytes.
	UploadedBytes(ctx context.Context, userID string, now time.Time) (int64, error)
	Upload(ctx context.Context, id string) (Upload, error)
}

// UploadLifetime is how long an upload is stored.
const UploadLifetime = 7 * 24 * time.Hour

// Upload is a file that a user uploaded.
type Upload struct {
	ID          string
	UserID      string
	Key         string
	ContentType string
	Size        int64
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// Upload stores a file of the user, and returns it with its URL. The caller limits the size of the file. The
// error is [ErrTooMuchMedia] if the total size of the uploads of the user would exceed MaxMediaBytes.
func (s *Service) Upload(ctx context.Context, userID, contentType string, content io.Reader) (Upload, string, error) {
	upload := Upload{ID: NewID(), UserID: userID, ContentType: contentType}
	upload.Key = UploadFolder + "/" + upload.ID + "/file" + s.Media.Extension(contentType)
	limit := cmp.Or(s.MaxMediaBytes, math.MaxInt64/2) // half, so that sums do not overflow
	counted := &uploadReader{content: content, add: func(n int64) int64 { return s.uploading.add(userID, n) }}
	known, stored := s.uploading.begin(userID), false // before the rows are read
	defer func() { s.uploading.end(userID, counted.n, stored) }()
	kept, err := s.Store.UploadedBytes(ctx, userID, s.now())
	if err != nil {
		return Upload{}, "", err
	}
	counted.left = limit - kept + known
	if err := s.Media.Write(ctx, upload.Key, counted); err != nil {
		return Upload{}, "", err
	}
	upload.Size, upload.CreatedAt = counted.n, s.now()
	upload.ExpiresAt = upload.CreatedAt.Add(UploadLifetime)
	if err := s.Store.AddUpload(ctx, upload, limit); err != nil {
		return Upload{}, "", errors.Join(orDeleted(err), s.Media.Erase(ctx, upload.Key))
	}
	stored = true
	url, _ := s.Media.URL(upload.Key)
	return upload, url, nil
}
