package studio

import (
	"context"
	"errors"
	"strings"
	"time"
)

// User is somebody who can log in.
type User struct {
	ID           string
	Email        string // normalized, see [NormalizeEmail]
	PasswordHash string
	CreatedAt    time.Time
	Role         Role
}

// Role is what a user may do beside what every user may.
type Role string

// The roles.
const (
	NoRole   Role = ""
	Operator Role = "operator" // sees who uses the service, and how it works
)

// Passwords hashes and compares passwords, slowly on purpose.
type Passwords interface {
	Hash(ctx context.Context, password string) (hash string, err error)
	Compare(ctx context.Context, password, hash string) (same bool, err error)
}

// NormalizeEmail returns the form under which an email address is kept and looked up.
func NormalizeEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// AddUser makes a user; an empty id gets a new one.
func (s *Service) AddUser(ctx context.Context, id, email, password string) (User, error) {
	hash, err := s.Passwords.Hash(ctx, password)
	if err != nil {
		return User{}, err
	}
	if id == "" {
		id = s.NewID()
	}
	user := User{ID: id, Email: NormalizeEmail(email), PasswordHash: hash, CreatedAt: s.now()}
	return user, s.Store.CreateUser(ctx, user)
}

// SetPassword replaces the password of a user and ends every session, as [Service.RevokeTokens] does.
func (s *Service) SetPassword(ctx context.Context, email, password string) error {
	user, err := s.UserByEmail(ctx, email)
	if err != nil {
		return err
	}
	hash, err := s.Passwords.Hash(ctx, password)
	if err != nil {
		return err
	}
	return s.Store.SetPassword(ctx, user.ID, hash, s.now())
}

// UserByEmail finds a user.
func (s *Service) UserByEmail(ctx context.Context, email string) (User, error) {
	return s.Store.UserByEmail(ctx, NormalizeEmail(email))
}

// RevokeTokens ends every session of a user: the refresh tokens at once, and the access tokens as soon
// as the daemons have read it, which they do each [RevocationInterval]. No address of the user's is
// known any more.
func (s *Service) RevokeTokens(ctx context.Context, email string) error {
	user, err := s.UserByEmail(ctx, email)
	if err != nil {
		return err
	}
	return s.Store.RevokeTokens(ctx, user.ID, s.now())
}

// RevocationInterval is how often daemons read which users' tokens have been revoked.
const RevocationInterval = 250 * time.Millisecond

// DeleteUser erases a user whose tokens have been revoked: avatars, videos, lip-syncs, uploads, what
// was made, secrets and memberships. Projects stay, because they are the workspace's.
func (s *Service) DeleteUser(ctx context.Context, email string) error {
	user, err := s.UserByEmail(ctx, email)
	if err != nil {
		return err
	}
	subjects, uploads, err := s.Store.DeleteUser(ctx, user.ID, s.now())
	if err != nil || s.Media == nil {
		return err
	}
	for _, id := range subjects {
		err = errors.Join(err, s.Media.Erase(ctx, resultPrefix(id)))
	}
	for _, key := range uploads {
		err = errors.Join(err, s.Media.Erase(ctx, key))
	}
	return err
}
