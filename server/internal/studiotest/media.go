package studiotest

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
	mu    sync.Mutex
	files map[string][]byte
}

var _ studio.Media = (*Media)(nil)

// NewMedia returns an empty Media.
func NewMedia() *Media { return &Media{files: make(map[string][]byte)} }

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
	return "https://media.example.com/" + key, time.Time{}
}
