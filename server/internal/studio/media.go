package studio

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
)

// Media keeps files by keys, which are names with slashes between them.
type Media interface {
	// Write keeps content under a key, whole or not at all, in place of what was there.
	Write(ctx context.Context, key string, content io.Reader) error
	// Open reads a file. [ErrNotFound] when there is none.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	// Erase erases every file whose key begins with a prefix.
	Erase(ctx context.Context, prefix string) error
	// URL returns an address at which anybody can read a file, until it expires.
	URL(key string) (url string, expires time.Time)
}

// The first parts of keys: of what was rendered, and of what users sent.
const (
	ResultFolder = "results"
	UploadFolder = "uploads"
)

// ResultKey is the key of a file that the rendering of a subject made. A rendering that is done
// again writes the same keys.
func ResultKey(subjectID, name string) string { return resultPrefix(subjectID) + name }

func resultPrefix(subjectID string) string { return ResultFolder + "/" + subjectID + "/" }

// ResultURL returns the address of a file of a subject's, or "" when there is none.
func (s *Service) ResultURL(subjectID, name string) string {
	if name == "" || s.Media == nil {
		return ""
	}
	url, _ := s.Media.URL(ResultKey(subjectID, name))
	return url
}

// MediaNeeded reports whether a record refers to a file.
func (s *Service) MediaNeeded(ctx context.Context, key string) (bool, error) {
	folder, rest, _ := strings.Cut(key, "/")
	id, name, _ := strings.Cut(rest, "/")
	if folder != ResultFolder {
		return false, nil
	}
	subject, err := s.Store.Subject(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	made := subject.Rendering
	return err != nil || subject.Status == Processing || name == made.Video || name == made.Thumbnail ||
		slices.Contains(made.Files, name), err
}

// OwnsMedia reports whether a file belongs to a user.
func (s *Service) OwnsMedia(ctx context.Context, userID, key string) (bool, error) {
	folder, rest, _ := strings.Cut(key, "/")
	id, _, _ := strings.Cut(rest, "/")
	if folder != ResultFolder {
		return false, nil
	}
	subject, err := s.Store.Subject(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && subject.UserID == userID, err
}
