package studio

import (
	"cmp"
	"context"
	"errors"
	"net/mail"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The limits of passwords, in bytes.
const (
	MinPasswordLength = 8
	MaxPasswordLength = 1024
)

// ErrPasswordLength is returned for a new password that is too short or too long, or is not UTF-8.
var ErrPasswordLength = errors.New("studio: a password has 8 to 1024 bytes of UTF-8")

// ValidPassword reports whether a user may choose a password.
func ValidPassword(password string) bool {
	return utf8.ValidString(password) && len(password) >= MinPasswordLength && len(password) <= MaxPasswordLength
}

// ErrEmail is returned for the email of a new user that is no address.
var ErrEmail = errors.New("studio: not an email address")

// maxEmail is the maximum length of an address in bytes (RFC 5321, section 4.5.3.1.3).
const maxEmail = 254

// ValidEmail reports whether a new user may have an email. A character that nobody sees would make it look like another
// one.
func ValidEmail(email string) bool {
	address, err := mail.ParseAddress(email)
	return err == nil && address.Address == email && len(email) <= maxEmail && !strings.ContainsAny(email, " \t") && Line(email) == email &&
		!strings.ContainsFunc(email, invisible)
}

// UserStore stores users; see [Store].
type UserStore interface {
	CreateUser(ctx context.Context, user User) error
	// UserByEmail returns the user with a normalized email.
	UserByEmail(ctx context.Context, email string) (User, error)
}

// User is a user who can log in.
type User struct {
	ID           string
	Email        string // normalized; see [Service.NormalizeEmail]
	PasswordHash string
	CreatedAt    time.Time
	Role         Role
	DisabledAt   time.Time // zero if the user can log in
}

// Role gives a user additional permissions.
type Role string

// The roles.
const (
	NoRole   Role = ""
	Operator Role = "operator" // can view all users and the state of the service
)

// Passwords hashes and compares passwords. Both are slow by design, and take as long as each other.
type Passwords interface {
	Hash(ctx context.Context, password string) (hash string, err error)
	Compare(ctx context.Context, password, hash string) (same bool, err error)
}

// NormalizeEmail returns the form in which emails are stored and looked up.
func (s *Service) NormalizeEmail(email string) string {
	return norm.NFC.String(strings.ToLower(strings.TrimSpace(email)))
}

// checkEmail returns the normalized form of an email.
func (s *Service) checkEmail(email string) (string, error) {
	if email = s.NormalizeEmail(email); !ValidEmail(email) {
		return "", ErrEmail
	}
	return email, nil
}

// AddUser creates a user. If id is empty, the user gets a new id. The error is [ErrEmail] if the email is no address.
func (s *Service) AddUser(ctx context.Context, id, email, password string) (User, error) {
	return s.addUser(ctx, id, email, password, NoRole)
}

// AddOperator creates a user who is an operator, as AddUser does.
func (s *Service) AddOperator(ctx context.Context, by User, id, email, password string) (User, error) {
	return s.addUser(s.WithAct(ctx, by, "made an operator", s.NormalizeEmail(email)), id, email, password, Operator)
}

func (s *Service) addUser(ctx context.Context, id, email, password string, role Role) (User, error) {
	email, err := s.checkEmail(email)
	if err != nil {
		return User{}, err
	}
	hash, err := s.Passwords.Hash(ctx, password)
	if err != nil {
		return User{}, err
	}
	user := s.newUser(id, email, hash)
	user.Role = role
	return user, s.Store.CreateUser(ctx, user)
}

// newUser returns a user with a normalized email.
func (s *Service) newUser(id, email, hash string) User {
	return User{ID: cmp.Or(id, NewID()), Email: email, PasswordHash: hash, CreatedAt: s.now()}
}

// SetPassword replaces the password of a user and ends all sessions, as [Service.EndSessions] does.
func (s *Service) SetPassword(ctx context.Context, email, password string) error {
	user, err := s.UserByEmail(ctx, email)
	if err != nil {
		return err
	}
	hash, err := s.Passwords.Hash(ctx, password)
	if err != nil {
		return err
	}
	return s.database.SetPassword(ctx, user.ID, "", hash, RefreshToken{}, s.now())
}

// ChangePassword replaces the password of a user who knows the current one, and ends all sessions. It returns the
// refresh token of a new session, which begins with the change: either both happen, or neither. A wrong current
// password counts as a failed login; see [Service.Login] for its errors. The error is [ErrPasswordLength] if the new
// password is too short or too long.
func (s *Service) ChangePassword(ctx context.Context, client netip.Addr, email, current, password string) (token string, err error) {
	if !ValidPassword(password) {
		return "", ErrPasswordLength
	}
	user, err := s.authenticate(ctx, client, email, current)
	if err != nil {
		return "", err
	}
	hash, err := s.hash(ctx, client, true, password)
	if err != nil {
		return "", err
	}
	now := s.now()
	token, session := s.newSession(user.ID, now)
	// It is not found if it is disabled, or if the password was changed meanwhile by somebody who knew it, too.
	if err := s.database.SetPassword(ctx, user.ID, user.PasswordHash, hash, session, now); err != nil {
		return "", orDeleted(err)
	}
	s.seeAddress(ctx, session, client, now)
	return token, nil
}

// orDeleted returns the error of a write of the caller, who is the only record that it needs. If it is missing, the
// user was deleted after the token was checked.
func orDeleted(err error) error {
	if errors.Is(err, ErrNotFound) {
		return ErrUnauthorized
	}
	return err
}

// hash hashes a password when it is the turn of the client, whose address may be known, among those who wait to log in.
func (s *Service) hash(ctx context.Context, client netip.Addr, known bool, password string) (string, error) {
	done, err := s.comparisons.acquire(ctx, addressOf(client), known)
	if err != nil {
		return "", err
	}
	defer done()
	return s.Passwords.Hash(ctx, password)
}

// UserByEmail returns the user with the given email.
func (s *Service) UserByEmail(ctx context.Context, email string) (User, error) {
	return s.Store.UserByEmail(ctx, s.NormalizeEmail(email))
}

// RevocationInterval is the interval at which daemons poll revocations.
const RevocationInterval = 250 * time.Millisecond

// AwaitRevocation waits until all daemons have read a revocation, also of an API key.
func AwaitRevocation(ctx context.Context) error {
	Pause(ctx, time.Second+RevocationInterval)
	return ctx.Err()
}
