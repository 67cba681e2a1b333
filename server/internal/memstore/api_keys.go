package memstore

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (s *Store) AddAPIKey(_ context.Context, key studio.APIKey, limit int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := find(s.users, key.UserID); err != nil {
		return err
	}
	if key.WorkspaceID != "" && !s.members[pair{key.WorkspaceID, key.UserID}] {
		return studio.ErrForbidden
	}
	if len(s.apiKeysOf(key.UserID)) >= limit {
		return studio.ErrTooManyAPIKeys
	}
	s.apiKeys[key.ID] = key
	return nil
}

func (s *Store) APIKeys(_ context.Context, userID string) ([]studio.APIKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.apiKeysOf(userID), nil
}

func (s *Store) apiKeysOf(userID string) (keys []studio.APIKey) {
	for _, key := range s.apiKeys {
		if key.UserID == userID {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b studio.APIKey) int { return strings.Compare(b.ID, a.ID) })
	return keys
}

func (s *Store) APIKey(_ context.Context, hash []byte) (studio.APIKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range s.apiKeys {
		if bytes.Equal(key.Hash, hash) && (key.WorkspaceID == "" || s.members[pair{key.WorkspaceID, key.UserID}]) {
			return key, nil
		}
	}
	return studio.APIKey{}, studio.ErrNotFound
}

func (s *Store) UseAPIKey(_ context.Context, id string, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key, ok := s.apiKeys[id]; ok && at.After(key.UsedAt) {
		key.UsedAt = at
		s.apiKeys[id] = key
	}
	return nil
}

func (s *Store) DeleteAPIKey(_ context.Context, userID, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.apiKeys[id].UserID != userID {
		return studio.ErrNotFound
	}
	delete(s.apiKeys, id)
	return nil
}
