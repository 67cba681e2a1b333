package studio

import (
	"context"
	"errors"
)

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

// AccessToken issues an access token for a user who has a session.
func (s *Service) AccessToken(user User) (string, error) { return s.IssueAccessToken(user.ID, s.now()) }
