package memstore

import (
	"context"

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
