package studio

import (
	"context"
	"errors"
)

// Session returns whose refresh token this is, without exchanging it: a session that lasts as long as
// the token may be exchanged. [ErrUnauthorized] when that has ended.
func (s *Service) Session(ctx context.Context, token string) (User, error) {
	user, err := s.Store.UserByRefreshToken(ctx, hashToken(token), s.now())
	if errors.Is(err, ErrNotFound) {
		err = ErrUnauthorized
	}
	return user, err
}

// EndSession ends the session of a refresh token, and the tokens that descend from the same login.
func (s *Service) EndSession(ctx context.Context, token string) error {
	return s.Store.DeleteFamily(ctx, hashToken(token))
}

// AccessToken issues an access token to the user of a session.
func (s *Service) AccessToken(user User) (string, error) { return s.IssueAccessToken(user.ID, s.now()) }
