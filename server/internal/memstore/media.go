package memstore

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Media is a [studio.Media] in memory. It is safe for concurrent use.
type Media struct {
	baseURL string

	mu    sync.Mutex
	files map[string][]byte
}

var _ studio.Media = (*Media)(nil)

// NewMedia returns an empty Media. The URL of a file is the base URL and its key.
func NewMedia(baseURL string) *Media { return &Media{baseURL: baseURL, files: make(map[string][]byte)} }

// Keys returns the keys of all files, sorted.
func (m *Media) Keys() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.files))
}

// Write implements [studio.Media].
func (m *Media) Write(_ context.Context, key string, content io.Reader) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[key] = data
	return nil
}

// Extension implements [studio.Media].
func (m *Media) Extension(string) string { return "" }

// Open implements [studio.Media].
func (m *Media) Open(_ context.Context, key string) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.files[key]
	if !ok {
		return nil, studio.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// Erase implements [studio.Media].
func (m *Media) Erase(_ context.Context, prefix string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.files, func(key string, _ []byte) bool { return strings.HasPrefix(key, prefix) })
	return nil
}

// URL implements [studio.Media].
func (m *Media) URL(key string) (url string, expires time.Time) {
	return m.baseURL + key, time.Time{}
}

func (s *Store) AddUpload(_ context.Context, upload studio.Upload, limit int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uploadedBytes(upload.UserID, upload.CreatedAt) > limit-upload.Size {
		return studio.ErrTooMuchMedia
	}
	s.uploads[upload.ID] = upload
	return nil
}

func (s *Store) UploadedBytes(_ context.Context, userID string, now time.Time) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uploadedBytes(userID, now), nil
}

func (s *Store) uploadedBytes(userID string, now time.Time) (bytes int64) {
	for _, upload := range s.uploads {
		if upload.UserID == userID && upload.ExpiresAt.After(now) {
			bytes += upload.Size
		}
	}
	return bytes
}

func (s *Store) Upload(_ context.Context, id string) (studio.Upload, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return find(s.uploads, id)
}
