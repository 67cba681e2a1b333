package memstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// token is a refresh token.
type token struct {
	studio.RefreshToken

	used bool
}

// AddRefreshToken does not look at the password, which does not change.
func (s *Store) AddRefreshToken(_ context.Context, added studio.RefreshToken, _ string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sessions []studio.RefreshToken // the newest first
	for _, token := range s.tokens {
		if token.UserID == added.UserID && !token.used {
			sessions = append(sessions, token.RefreshToken)
		}
	}
	slices.SortFunc(sessions, func(a, b studio.RefreshToken) int { return b.ExpiresAt.Compare(a.ExpiresAt) })
	for _, ended := range sessions[min(len(sessions), studio.MaxSessions-1):] {
		s.deleteFamily(ended.Family, now)
	}
	s.tokens[string(added.Hash)] = &token{RefreshToken: added}
	return nil
}

func (s *Store) RotateRefreshToken(
	_ context.Context, hash []byte, now time.Time, next studio.RefreshToken,
) (studio.RefreshToken, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	current := s.tokens[string(hash)]
	switch {
	case current == nil || !current.ExpiresAt.After(now):
		return next, studio.ErrUnauthorized
	case current.used:
		s.deleteFamily(current.Family, now)
		return next, studio.ErrUnauthorized
	}
	current.used = true
	next.Family, next.UserID = current.Family, current.UserID
	s.tokens[string(next.Hash)] = &token{RefreshToken: next}
	return next, nil
}

func (s *Store) DeleteFamily(_ context.Context, hash []byte, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token := s.tokens[string(hash)]; token != nil {
		s.deleteFamily(token.Family, now)
	}
	return nil
}

func (s *Store) deleteFamily(family string, now time.Time) {
	s.OnRevoke(family, now)
	maps.DeleteFunc(s.tokens, func(_ string, token *token) bool { return token.Family == family })
}
