package studio

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/netip"
	"time"
)

// RefreshTokenLifetime is how long a refresh token may be exchanged.
const RefreshTokenLifetime = 30 * 24 * time.Hour

// TokenPair is what a login or a refresh answers (interface, 2.4).
type TokenPair struct {
	Access  string
	Refresh string
}

// RefreshToken is a refresh token as it is kept. The tokens that descend from one login are
// a family.
type RefreshToken struct {
	Hash      []byte // SHA-256 of the token
	Family    string
	UserID    string
	ExpiresAt time.Time
}

// Refresh exchanges a refresh token for a new pair; client is where the request comes from, and known
// from then on. Using a token a second time is taken for theft and ends its family. The error is
// [ErrUnauthorized].
func (s *Service) Refresh(ctx context.Context, client netip.Addr, token string) (TokenPair, error) {
	now := s.now()
	plain, next := newRefreshToken(now)
	userID, err := s.Store.RotateRefreshToken(ctx, hashToken(token), now, next)
	if err != nil {
		return TokenPair{}, err
	}
	_ = s.Store.SeeAddress(ctx, userID, addressOf(client), now) // or at the next refresh: this token is spent
	return s.pair(userID, plain, now)
}

func (s *Service) startFamily(ctx context.Context, user User, now time.Time) (TokenPair, error) {
	plain, token := newRefreshToken(now)
	token.Family, token.UserID = s.NewID(), user.ID
	if err := s.Store.AddRefreshToken(ctx, token, user.PasswordHash); err != nil {
		return TokenPair{}, err
	}
	return s.pair(user.ID, plain, now)
}

func (s *Service) pair(userID, refresh string, now time.Time) (TokenPair, error) {
	access, err := s.IssueAccessToken(userID, now)
	return TokenPair{Access: access, Refresh: refresh}, err
}

// newRefreshToken makes a token of 256 random bits and the record of it.
func newRefreshToken(now time.Time) (plain string, token RefreshToken) {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails: crypto/rand ends the process instead
	plain = base64.RawURLEncoding.EncodeToString(random)
	return plain, RefreshToken{Hash: hashToken(plain), ExpiresAt: now.Add(RefreshTokenLifetime)}
}

func hashToken(token string) []byte {
	hash := sha256.Sum256([]byte(token))
	return hash[:]
}
