package studio

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// LinkPurpose is what the holder of a link may do, once.
type LinkPurpose string

// The purposes of links.
const (
	SetupLink  LinkPurpose = "setup"  // become the first operator
	InviteLink LinkPurpose = "invite" // become a user
	ResetLink  LinkPurpose = "reset"  // set the password of a user
)

// linkLifetimes are the times after which links expire.
//
//nolint:gochecknoglobals // a table
var linkLifetimes = map[LinkPurpose]time.Duration{SetupLink: 30 * time.Minute, InviteLink: 7 * 24 * time.Hour, ResetLink: 24 * time.Hour}

// Lifetime returns for how long a link is valid, in words such as "7 days".
func (p LinkPurpose) Lifetime() string {
	switch d := linkLifetimes[p]; {
	case d > 24*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d > time.Hour:
		return fmt.Sprintf("%d hours", d/time.Hour)
	default:
		return fmt.Sprintf("%d minutes", d/time.Minute)
	}
}

// ErrLink is returned if a link was used or has expired, or does not exist.
var ErrLink = errors.New("studio: the link was used or has expired")

// Link lets its holder do one thing once, without a password.
type Link struct {
	Hash        []byte
	Purpose     LinkPurpose
	Email       string // of the user, normalized; "" for the first operator
	WorkspaceID string // the workspace of an invited user; "" for none
	Operator    bool   // the role of an invited user
	By          string // the ID of the operator who made it; "" for the first operator
	ExpiresAt   time.Time
}

// LinkStore stores links; see [OperatorStore].
type LinkStore interface {
	// AddLink adds a link, and deletes the others with its purpose and email. The error is [ErrNotFound] if its workspace
	// does not exist.
	AddLink(ctx context.Context, link Link) error
	// Link returns the link with a hash.
	Link(ctx context.Context, hash []byte) (Link, error)
	// Join deletes a link and adds a user to a workspace, which it creates if it has a time of creation. Without an ID, there
	// is no workspace. Of concurrent calls with a link, one succeeds, and the others return [ErrNotFound].
	Join(ctx context.Context, hash []byte, user User, workspace Workspace) error
	// ResetPassword deletes a link and sets a password, as SetPassword does. Of concurrent calls, one succeeds.
	ResetPassword(ctx context.Context, hash []byte, userID, passwordHash string, now time.Time) error
}

// NewSetupLink returns the secret of a link for the first operator. Earlier ones end. The error is [ErrExists] if there is a
// user.
func (s *Service) NewSetupLink(ctx context.Context) (secret string, err error) {
	if empty, err := s.Operators.Empty(ctx); err != nil || !empty {
		return "", errors.Join(err, ErrExists)
	}
	return s.newLink(ctx, Link{Purpose: SetupLink})
}

func (s *Service) newLink(ctx context.Context, link Link) (secret string, err error) {
	now := s.now()
	secret, token := newRefreshToken(now)
	link.Hash, link.ExpiresAt = token.Hash, now.Add(linkLifetimes[link.Purpose])
	return secret, s.Operators.AddLink(ctx, link)
}

// OpenLink returns the link with a secret, which stays valid. The error is [ErrLink] if it is not valid.
func (s *Service) OpenLink(ctx context.Context, secret string) (Link, error) {
	link, err := s.Operators.Link(ctx, hashToken(secret))
	useful := true
	switch {
	case err != nil:
	case link.Purpose == SetupLink:
		useful, err = s.Operators.Empty(ctx)
	case link.Purpose == ResetLink:
		var user User
		user, err = s.UserByEmail(ctx, link.Email)
		useful = user.DisabledAt.IsZero()
	}
	if errors.Is(err, ErrNotFound) || err == nil && (!useful || !link.ExpiresAt.After(s.now())) {
		err = ErrLink
	}
	return link, err
}

// UseLink uses a link with the password that its holder has chosen, and logs the user in. email is that of the first
// operator, who also gets a workspace; other links contain it. The errors are [ErrLink], [ErrPasswordLength], [ErrEmail], and
// [ErrExists] if there is a user with this email.
func (s *Service) UseLink(ctx context.Context, client netip.Addr, secret, email, password string) (TokenPair, error) {
	link, err := s.OpenLink(ctx, secret)
	if err != nil {
		return TokenPair{}, err
	}
	if link.Purpose != SetupLink {
		email = link.Email
	} else if email, err = s.checkEmail(email); err != nil {
		return TokenPair{}, err
	}
	if !ValidPassword(password) {
		return TokenPair{}, ErrPasswordLength
	}
	if link.Purpose == InviteLink {
		if _, err := s.UserByEmail(ctx, email); !errors.Is(err, ErrNotFound) {
			return TokenPair{}, errors.Join(err, ErrExists)
		}
	}
	act := s.WithAct(ctx, "", string(link.Purpose)+" link used", email)
	if link.Purpose == ResetLink {
		err = s.resetPassword(act, link, password)
	} else {
		err = s.join(act, link, email, password)
	}
	if errors.Is(err, ErrNotFound) {
		err = ErrLink
	}
	if err != nil {
		return TokenPair{}, err
	}
	return s.Login(ctx, client, email, password)
}

func (s *Service) resetPassword(ctx context.Context, link Link, password string) error {
	id, hash, err := s.newPassword(ctx, link.Email, password)
	if err != nil {
		return err
	}
	return s.Operators.ResetPassword(ctx, link.Hash, id, hash, s.now())
}

// join adds the user of a link to invite, or the first operator with a workspace.
func (s *Service) join(ctx context.Context, link Link, email, password string) error {
	user, err := s.newUser(ctx, "", email, password)
	if err != nil {
		return err
	}
	workspace := Workspace{ID: link.WorkspaceID}
	if link.Purpose == SetupLink {
		workspace = s.newWorkspace("", "Studio")
		link.Operator = true
	}
	if link.Operator {
		user.Role = Operator
	}
	return s.Operators.Join(ctx, link.Hash, user, workspace)
}
