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

// Session returns the user of a refresh token without exchanging the token. The console, which keeps a
// refresh token in a cookie, calls it for each request. A session lasts as long as its token is valid. The
// error is [ErrUnauthorized] if the token is not valid.
func (s *Service) Session(ctx context.Context, token string) (User, error) {
	user, err := s.Store.UserByRefreshToken(ctx, hashToken(token), s.now())
	if errors.Is(err, ErrNotFound) {
		err = ErrUnauthorized
	}
	return user, err
}

// EndSession invalidates a refresh token, and all tokens that descend from the same login.
func (s *Service) EndSession(ctx context.Context, token string) error {
	return s.Store.DeleteFamily(ctx, hashToken(token))
}

// OpenSessions returns the sessions of a user, the newest first. token is the refresh token of the caller.
func (s *Service) OpenSessions(ctx context.Context, userID, token string) ([]OpenSession, error) {
	tokens, err := s.Store.UnusedRefreshTokens(ctx, userID, s.now())
	sessions := make([]OpenSession, len(tokens))
	for i, t := range tokens {
		sessions[i] = OpenSession{t.Family, t.ExpiresAt.Add(-RefreshTokenLifetime), t.ExpiresAt, bytes.Equal(t.Hash, hashToken(token))}
	}
	return sessions, err
}

// EndSessionOf ends a session of a user. Access tokens that it has issued expire within the hour.
func (s *Service) EndSessionOf(ctx context.Context, userID, sessionID string) error {
	return s.Store.DeleteFamilyOf(ctx, userID, sessionID)
}

// AccessToken issues an access token for a user who has a session.
func (s *Service) AccessToken(user User) (string, error) { return s.IssueAccessToken(user.ID, s.now()) }
