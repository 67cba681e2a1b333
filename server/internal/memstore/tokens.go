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

func (s *Store) AddRefreshToken(_ context.Context, added studio.RefreshToken, passwordHash string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if user, err := find(s.users, added.UserID); err != nil || user.PasswordHash != passwordHash {
		return studio.ErrUnauthorized
	}
	sessions := s.unused(added.UserID)
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

func (s *Store) UserByRefreshToken(_ context.Context, hash []byte, now time.Time) (user studio.User, family string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.tokens[string(hash)]
	if found == nil || found.used || !found.ExpiresAt.After(now) {
		return studio.User{}, "", studio.ErrNotFound
	}
	user = *s.users[found.UserID]
	user.PasswordHash = ""
	return user, found.Family, nil
}

func (s *Store) DeleteFamily(_ context.Context, hash []byte, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token := s.tokens[string(hash)]; token != nil {
		s.deleteFamily(token.Family, now)
	}
	return nil
}

func (s *Store) UnusedRefreshTokens(_ context.Context, userID string, now time.Time) ([]studio.RefreshToken, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(s.unused(userID), func(token studio.RefreshToken) bool { return !token.ExpiresAt.After(now) }), nil
}

// unused returns the tokens of a user that are not used, the newest first. s.mu must be held.
func (s *Store) unused(userID string) (all []studio.RefreshToken) {
	for _, token := range s.tokens {
		if token.UserID == userID && !token.used {
			all = append(all, token.RefreshToken)
		}
	}
	slices.SortFunc(all, func(a, b studio.RefreshToken) int { return b.ExpiresAt.Compare(a.ExpiresAt) })
	return all
}

func (s *Store) DeleteFamilyOf(_ context.Context, userID, family string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, token := range s.tokens {
		if token.Family == family && token.UserID == userID {
			s.deleteFamily(family, now)
			return nil
		}
	}
	return studio.ErrNotFound
}

func (s *Store) deleteFamily(family string, now time.Time) {
	s.OnRevoke(family, now)
	maps.DeleteFunc(s.tokens, func(_ string, token *token) bool { return token.Family == family })
}

func (s *Store) RevokeTokens(_ context.Context, userID string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revokeTokens(userID, now)
	_, err := find(s.users, userID)
	return err
}

func (s *Store) revokeTokens(userID string, now time.Time) {
	for _, token := range s.unused(userID) {
		s.deleteFamily(token.Family, now)
	}
	maps.DeleteFunc(s.addresses, func(known pair, _ time.Time) bool { return known.a == userID })
}
