package studio

import (
	"context"
	"errors"
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
var linkLifetimes = map[LinkPurpose]struct {
	time  time.Duration
	words string
}{SetupLink: {30 * time.Minute, "30 minutes"}, InviteLink: {7 * 24 * time.Hour, "7 days"}, ResetLink: {24 * time.Hour, "24 hours"}}

// Lifetime returns for how long a link is valid, in words.
func (p LinkPurpose) Lifetime() string { return linkLifetimes[p].words }

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

// linkClaim is for how long the use of a link keeps others from using it, while the password is hashed.
const linkClaim = 10 * time.Second

// LinkStore stores links; see [DatabaseStore].
type LinkStore interface {
	// AddLink adds a link, and deletes the others with its purpose and email. The error is [ErrNotFound] if its
	// workspace does not exist, or it resets the password of a user who is deleted.
	AddLink(ctx context.Context, link Link) error
	// Link returns the link with a hash.
	Link(ctx context.Context, hash []byte) (Link, error)
	// ClaimLink claims a link until a time. The error is [ErrNotFound] if there is no such link, or another claim has
	// not ended at now.
	ClaimLink(ctx context.Context, hash []byte, now, until time.Time) error
	// Join deletes a link and adds a user to a workspace, which it creates if it has a time of creation, and the token
	// of a session. Without an ID, there is no workspace. Of concurrent calls with a link, one succeeds, and the others
	// return [ErrNotFound].
	Join(ctx context.Context, hash []byte, user User, workspace Workspace, session RefreshToken) error
	// ResetPassword deletes a link and sets a password, as SetPassword does. Of concurrent calls, one succeeds.
	ResetPassword(ctx context.Context, hash []byte, userID, passwordHash string, session RefreshToken, now time.Time) error
}

// NewSetupLink returns the secret of a link for the first operator. Earlier ones end. The error is [ErrExists] if there
// is an operator.
func (s *Service) NewSetupLink(ctx context.Context) (secret string, err error) {
	if found, err := s.database.HasOperator(ctx); err != nil || found {
		return "", errors.Join(err, ErrExists)
	}
	return s.newLink(ctx, Link{Purpose: SetupLink})
}

func (s *Service) newLink(ctx context.Context, link Link) (secret string, err error) {
	now := s.now()
	secret, token := newRefreshToken(now)
	link.Hash, link.ExpiresAt = token.Hash, now.Add(linkLifetimes[link.Purpose].time)
	return secret, s.database.AddLink(ctx, link)
}

// OpenLink returns the link with a secret, which stays valid. The error is [ErrLink] if it is not valid.
func (s *Service) OpenLink(ctx context.Context, secret string) (Link, error) {
	link, err := s.database.Link(ctx, hashToken(secret))
	useful := true
	switch {
	case err != nil:
	case link.Purpose == SetupLink:
		useful, err = s.database.HasOperator(ctx)
		useful = !useful
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

// UseLink uses a link with the password that its holder has chosen, and returns the refresh token of a new session,
// which begins with the use: either both happen, or neither, also if ctx ends meanwhile. email is that of the first
// operator, who also gets a workspace; other links contain it. The errors are [ErrLink], [ErrPasswordLength],
// [ErrEmail], [ErrExists] if there is a user with this email, and [ErrBusy] if the link is being used, or too much work
// is queued.
func (s *Service) UseLink(ctx context.Context, client netip.Addr, secret, email, password string) (token string, err error) {
	link, err := s.OpenLink(ctx, secret)
	if err != nil {
		return "", err
	}
	if link.Purpose != SetupLink {
		email = link.Email
	} else if email, err = s.checkEmail(email); err != nil {
		return "", err
	}
	if !ValidPassword(password) {
		return "", ErrPasswordLength
	}
	user, err := s.UserByEmail(ctx, email)
	if link.Purpose != ResetLink && !errors.Is(err, ErrNotFound) {
		return "", errors.Join(err, ErrExists)
	} else if link.Purpose == ResetLink && err != nil {
		return "", err
	}
	if err := s.claimLink(ctx, link, secret); err != nil {
		return "", err
	}
	ctx = context.WithoutCancel(ctx) // otherwise each use that is interrupted would cost a hash
	hash, err := s.hash(ctx, client, false, password)
	if err != nil {
		return "", err
	}
	now := s.now()
	act := s.WithAct(ctx, User{}, string(link.Purpose)+" link used", email)
	var session RefreshToken
	if link.Purpose == ResetLink {
		token, session = s.newSession(user.ID, now)
		err = s.database.ResetPassword(act, link.Hash, user.ID, hash, session, now)
	} else {
		user = s.newUser("", email, hash)
		token, session = s.newSession(user.ID, now)
		err = s.join(act, link, user, session)
	}
	if errors.Is(err, ErrNotFound) {
		err = ErrLink
	}
	if err != nil {
		return "", err
	}
	s.seeAddress(ctx, session, client, now)
	return token, nil
}

// claimLink claims a link before its password is hashed, so that concurrent uses cost one hash.
func (s *Service) claimLink(ctx context.Context, link Link, secret string) error {
	now := s.now()
	err := s.database.ClaimLink(ctx, link.Hash, now, now.Add(linkClaim))
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	if _, err := s.OpenLink(ctx, secret); err != nil { // it was used in the meantime
		return err
	}
	return ErrBusy.After(linkClaim)
}

// join adds the user of a link to invite, or the first operator with a workspace.
func (s *Service) join(ctx context.Context, link Link, user User, session RefreshToken) error {
	workspace := Workspace{ID: link.WorkspaceID}
	if link.Purpose == SetupLink {
		workspace = s.newWorkspace("", "Studio")
		link.Operator = true
	}
	if link.Operator {
		user.Role = Operator
	}
	return s.database.Join(ctx, link.Hash, user, workspace, session)
}
