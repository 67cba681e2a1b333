package studio

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"
)

// A login is refused after maxLoginTries tries for one email within LoginWindow; a login
// that succeeds forgets the tries before it.
const (
	maxLoginTries = 10
	LoginWindow   = 15 * time.Minute
)

// User is somebody who can log in.
type User struct {
	ID           string
	Email        string // normalized, see [NormalizeEmail]
	PasswordHash string
	CreatedAt    time.Time
}

// Passwords hashes and compares passwords, slowly on purpose. [ErrBusy] when too many
// calls are waiting for their turn.
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

// SetPassword replaces the password of a user, forgets failed logins and ends every refresh
// token. Access tokens run out by themselves.
func (s *Service) SetPassword(ctx context.Context, email, password string) error {
	user, err := s.UserByEmail(ctx, email)
	if err != nil {
		return err
	}
	hash, err := s.Passwords.Hash(ctx, password)
	if err != nil {
		return err
	}
	if err := s.Store.SetPassword(ctx, user.ID, hash); err != nil {
		return err
	}
	return s.Store.ForgetLoginTries(ctx, loginAccount(user.Email))
}

// UserByEmail finds a user.
func (s *Service) UserByEmail(ctx context.Context, email string) (User, error) {
	return s.Store.UserByEmail(ctx, NormalizeEmail(email))
}

// loginAccount is what tries are counted by. What is sent as an email may be anything of any
// length, and is not kept.
func loginAccount(email string) string {
	hash := sha256.Sum256([]byte(email))
	return hex.EncodeToString(hash[:])
}

// Login exchanges email and password for tokens (interface, 4.2). An unknown email and a
// wrong password are the same [ErrUnauthorized] after the same work; too many tries are a
// [ErrTooManyTries].
func (s *Service) Login(ctx context.Context, email, password string) (TokenPair, error) {
	email, now := NormalizeEmail(email), s.now()
	account := loginAccount(email)
	// One at a time for an account, so that concurrent guesses do not slip through together, and
	// concurrent logins with the right password do not close the account.
	release, err := s.logins.enter(ctx, account)
	if err != nil {
		return TokenPair{}, err
	}
	defer release()
	tries, began, err := s.Store.LoginTries(ctx, account, now.Add(-LoginWindow))
	if err != nil {
		return TokenPair{}, err
	}
	if tries >= maxLoginTries {
		return TokenPair{}, &LimitError{Limit: ErrTooManyTries, RetryAfter: began.Add(LoginWindow).Sub(now)}
	}
	user, err := s.checkPassword(ctx, email, password)
	if errors.Is(err, ErrUnauthorized) {
		if err := s.Store.CountLoginTry(ctx, account, now, now.Add(-LoginWindow)); err != nil {
			return TokenPair{}, err
		}
	}
	if err != nil {
		return TokenPair{}, err
	}
	if tries > 0 {
		if err := s.Store.ForgetLoginTries(ctx, account); err != nil {
			return TokenPair{}, err
		}
	}
	return s.startFamily(ctx, user, now)
}

// checkPassword returns the user of an email if the password is right.
func (s *Service) checkPassword(ctx context.Context, email, password string) (User, error) {
	decoy, err := s.decoy.get(ctx, s) // for every login, because making it takes time too
	if err != nil {
		return User{}, err
	}
	user, err := s.Store.UserByEmail(ctx, email)
	unknown := errors.Is(err, ErrNotFound)
	if err != nil && !unknown {
		return User{}, err
	}
	if unknown {
		user.PasswordHash = decoy
	}
	same, err := s.Passwords.Compare(ctx, password, user.PasswordHash)
	if err != nil {
		return User{}, err
	}
	if unknown || !same {
		return User{}, ErrUnauthorized
	}
	return user, nil
}
