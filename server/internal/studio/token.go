package studio

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/netip"
	"time"
)

// RefreshTokenLifetime is how long a refresh token is valid.
const RefreshTokenLifetime = 30 * 24 * time.Hour

// MaxSessions is the maximum number of sessions of a user. A login beyond it ends the session that was refreshed
// longest ago.
const MaxSessions = 100

// TokenPair is the result of a login or refresh (section 2.4 of the interface).
type TokenPair struct {
	Access  string
	Refresh string
}

// AccessToken is what an access token says.
type AccessToken struct {
	UserID    string
	SessionID string
	IssuedAt  time.Time
}

// TokenStore stores refresh tokens and the revocations of access tokens; see [Store]. To delete a family is to revoke
// the access tokens of the session, too.
type TokenStore interface {
	// AddRefreshToken adds a token. If the user then has more than [MaxSessions] families, it deletes those of the
	// others whose tokens expire first. The error is [ErrUnauthorized] if the user no longer has this password hash.
	AddRefreshToken(ctx context.Context, token RefreshToken, passwordHash string, now time.Time) error
	// RotateRefreshToken marks the token with the given hash as used, and adds next to its family and user, with which
	// it returns next. The error is [ErrUnauthorized] if the token is unknown or expired, or has been used before. In
	// the last case, it also deletes the whole family.
	RotateRefreshToken(ctx context.Context, hash []byte, now time.Time, next RefreshToken) (RefreshToken, error)
	// DeleteFamily deletes the family of a token, which may have been used. It does nothing if the token does not
	// exist.
	DeleteFamily(ctx context.Context, hash []byte, now time.Time) error
}

// RefreshToken is a stored refresh token. All tokens that descend from one login are a family, which is a session.
type RefreshToken struct {
	Hash      []byte // SHA-256 of the token
	Family    string
	UserID    string
	ExpiresAt time.Time
}

// Refresh exchanges a refresh token for a new pair. client is the address of the request and becomes a known
// address. If a token is used again, Refresh assumes that it was stolen and deletes its family. The error is
// [ErrUnauthorized] if the token is not valid.
func (s *Service) Refresh(ctx context.Context, client netip.Addr, token string) (TokenPair, error) {
	now := s.now()
	plain, next := newRefreshToken(now)
	next, err := s.Store.RotateRefreshToken(ctx, hashToken(token), now, next)
	if err != nil {
		return TokenPair{}, err
	}
	s.seeAddress(ctx, next, client, now)
	return s.pair(next, plain, now)
}

// newSession returns the first refresh token of a new session of a user, and its record.
func (s *Service) newSession(userID string, now time.Time) (plain string, token RefreshToken) {
	plain, token = newRefreshToken(now)
	token.Family, token.UserID = NewID(), userID
	return plain, token
}

func (s *Service) pair(token RefreshToken, refresh string, now time.Time) (TokenPair, error) {
	access, err := s.IssueAccessToken(AccessToken{UserID: token.UserID, SessionID: token.Family, IssuedAt: now})
	return TokenPair{Access: access, Refresh: refresh}, err
}

// newRefreshToken returns a token of 256 random bits, and its record.
func newRefreshToken(now time.Time) (plain string, token RefreshToken) {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails: crypto/rand would crash the process
	plain = base64.RawURLEncoding.EncodeToString(random)
	return plain, RefreshToken{Hash: hashToken(plain), ExpiresAt: now.Add(RefreshTokenLifetime)}
}

func hashToken(token string) []byte {
	hash := sha256.Sum256([]byte(token))
	return hash[:]
}
