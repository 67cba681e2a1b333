package studio

import (
	"bytes"
	"context"
	"errors"
	"time"
)

// OpenSession is a session of a user.
type OpenSession struct {
	ID          string
	RefreshedAt time.Time // when its token was last exchanged; of a session of the console, when the user logged in
	ExpiresAt   time.Time
	Current     bool // whether it has the token of the caller
}

// Session returns the user and the ID of the session of a refresh token without exchanging the token. The console,
// which keeps a refresh token in a cookie, calls it for each request. A session lasts as long as its token is valid.
// The error is [ErrUnauthorized] if the token is not valid.
func (s *Service) Session(ctx context.Context, token string) (user User, id string, err error) {
	user, id, err = s.database.UserByRefreshToken(ctx, hashToken(token), s.now())
	if errors.Is(err, ErrNotFound) {
		err = ErrUnauthorized
	}
	return user, id, err
}

// EndSession ends the session of a refresh token, which may have been used, with all tokens that descend from the same
// login. This daemon refuses its access tokens at once, and the others when they poll the revocations, which they do
// every [RevocationInterval]. It does nothing if there is no such token.
func (s *Service) EndSession(ctx context.Context, token string) error {
	return s.Store.DeleteFamily(ctx, hashToken(token), s.now())
}

// OpenSessions returns the sessions of a user, the newest first. token is the refresh token of the caller.
func (s *Service) OpenSessions(ctx context.Context, userID, token string) ([]OpenSession, error) {
	tokens, err := s.database.UnusedRefreshTokens(ctx, userID, s.now())
	sessions := make([]OpenSession, len(tokens))
	for i, t := range tokens {
		sessions[i] = OpenSession{t.Family, t.ExpiresAt.Add(-RefreshTokenLifetime), t.ExpiresAt, bytes.Equal(t.Hash, hashToken(token))}
	}
	return sessions, err
}

// EndSessionOf ends a session of a user, as [Service.EndSession] does.
func (s *Service) EndSessionOf(ctx context.Context, userID, sessionID string) error {
	return s.database.DeleteFamilyOf(ctx, userID, sessionID, s.now())
}
