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

func (s *Store) SetPassword(_ context.Context, userID, hash string, session studio.RefreshToken, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	user, err := find(s.users, userID)
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

func (s *Store) DeleteUser(_ context.Context, userID string, now time.Time) (subjects, uploads []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := find(s.users, userID); err != nil {
		return nil, nil, err
	}
	for _, subject := range s.subjects {
		if subject.UserID == userID && subject.deletedAt.IsZero() {
			subjects = append(subjects, subject.ID)
			s.erase(subject, now)
		}
	}
	for id, upload := range s.uploads {
		if upload.UserID == userID {
			uploads = append(uploads, upload.Key)
			delete(s.uploads, id)
		}
	}
	s.revokeTokens(userID, now)
	maps.DeleteFunc(s.keys, func(key pair, _ creation) bool { return key.a == userID })
	maps.DeleteFunc(s.members, func(member pair, _ bool) bool { return member.b == userID })
	maps.DeleteFunc(s.apiKeys, func(_ string, key studio.APIKey) bool { return key.UserID == userID })
	delete(s.secrets, userID)
	delete(s.users, userID)
	return subjects, uploads, nil
}
