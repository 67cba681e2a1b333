package memstore

import (
	"context"
	"maps"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (s *Store) CreateUser(_ context.Context, user studio.User) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, known := range s.users {
		if known.Email == user.Email {
			return studio.ErrExists
		}
	}
	return insert(s.users, user.ID, &user)
}

func (s *Store) UserByEmail(_ context.Context, email string) (studio.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, user := range s.users {
		if user.Email == email {
			return *user, nil
		}
	}
	return studio.User{}, studio.ErrNotFound
}

func (s *Store) SetPassword(_ context.Context, userID, current, hash string, session studio.RefreshToken, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	user, err := find(s.users, userID)
	if err == nil && current != "" && current != user.PasswordHash {
		err = studio.ErrNotFound
	}
	if err != nil {
		return err
	}
	user.PasswordHash = hash
	s.revokeTokens(userID, now)
	if session.Hash != nil {
		s.tokens[string(session.Hash)] = &token{RefreshToken: session}
	}
	return nil
}

func (s *Store) SetRole(_ context.Context, userID string, role studio.Role) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	user, err := find(s.users, userID)
	if err == nil {
		user.Role = role
	}
	return err
}

func (s *Store) RemoveUser(_ context.Context, userID string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := find(s.users, userID); err != nil {
		return err
	}
	var erased studio.Erased
	for _, subject := range s.subjects {
		if subject.UserID == userID && subject.deletedAt.IsZero() {
			erased.IDs = append(erased.IDs, subject.ID)
			s.erase(subject, now)
		}
	}
	for id, upload := range s.uploads {
		if upload.UserID == userID {
			erased.Uploads = append(erased.Uploads, upload.Key)
			delete(s.uploads, id)
		}
	}
	s.revokeTokens(userID, now)
	maps.DeleteFunc(s.keys, func(key pair, _ keyUse) bool { return key.a == userID })
	maps.DeleteFunc(s.pauses, func(endpoint pair, _ time.Time) bool { return endpoint.a == userID })
	maps.DeleteFunc(s.members, func(member pair, _ bool) bool { return member.b == userID })
	maps.DeleteFunc(s.apiKeys, func(_ string, key studio.APIKey) bool { return key.UserID == userID })
	delete(s.secrets, userID)
	delete(s.users, userID)
	s.erased[userID] = erased
	return nil
}

func (s *Store) DueTask(context.Context, time.Time) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.erased {
		return id, nil
	}
	return "", studio.ErrNotFound
}

func (s *Store) NextBatch(_ context.Context, id string, _ time.Time) (studio.Erased, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	erased := s.erased[id]
	delete(s.erased, id)
	return erased, nil
}
