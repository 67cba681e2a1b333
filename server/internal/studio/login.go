package studio

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/netip"
	"time"
)

// LoginMemory is how long failed logins count after the last one.
const LoginMemory = time.Hour

// AddressMemory is how long an address is known after a login or refresh from it.
const AddressMemory = RefreshTokenLifetime

// LoginStore stores the failures of logins and the addresses of users; see [Store].
type LoginStore interface {
	// LoginWait returns how long a login must wait, which is the longest wait of throttles, given the failures
	// that CountLogin has counted. It counts nothing.
	LoginWait(ctx context.Context, throttles []Throttle, now time.Time) (time.Duration, error)
	// CountLogin counts a failure for each of throttles. If the login must wait, it counts nothing and
	// returns how long.
	CountLogin(ctx context.Context, throttles []Throttle, now time.Time) (time.Duration, error)
	// ReleaseLoginAttempt undoes CountLogin after a login that did not fail, or whose password could not be compared.
	// If the login succeeded, it also resets the throttles with Forgets.
	ReleaseLoginAttempt(ctx context.Context, throttles []Throttle, succeeded bool) error
	// KnowsAddress reports whether SeeAddress was called for a user and an address after the given time.
	KnowsAddress(ctx context.Context, userID, address string, after time.Time) (bool, error)
	// SeeAddress makes an address known to a user at now. It may keep a time of up to a day before.
	SeeAddress(ctx context.Context, userID, address string, now time.Time) error
}

// Throttle delays logins after failures with the same key. After Free failures, the next login must wait one
// second after the last failure. The delay doubles with each further failure, up to Longest.
type Throttle struct {
	Key     string
	Free    int
	Longest time.Duration
	// Forgets reports whether a successful login resets the failures.
	Forgets bool
}

// Wait returns how long the next login must wait, given the number and time of the failures.
func (t Throttle) Wait(failures int, last, now time.Time) time.Duration {
	if failures < t.Free {
		return 0
	}
	delay := min(time.Second<<min(failures-t.Free, 20), t.Longest)
	if last.Sub(now) > delay { // the clock was set back; that of another daemon may be a little ahead
		return 0
	}
	return max(0, last.Add(delay).Sub(now))
}

// throttles returns the throttles of a login with an email from an address. If the address is known, only
// failures from that address count. Failures before a change of the password count for the address only.
func throttles(email, passwordHash, address string, known bool) []Throttle {
	all := []Throttle{{Key: loginKey("pair", email, passwordHash, address), Free: 10, Longest: 15 * time.Minute, Forgets: true}}
	if !known {
		all = append(all,
			Throttle{Key: loginKey("account", email, passwordHash), Free: 50, Longest: time.Minute},
			Throttle{Key: loginKey("address", address), Free: 100, Longest: time.Minute})
	}
	return all
}

// loginKey returns the key under which failures are counted. It hashes the parts, because the submitted email
// may be any text and must not be stored.
func loginKey(kind string, parts ...string) string {
	hash := sha256.Sum256(frame(append([]string{kind}, parts...)...))
	return hex.EncodeToString(hash[:])
}

// addressOf returns the key of a client address: the IPv4 address, or the 64-bit network of an IPv6 address,
// whose owner controls all its addresses.
func addressOf(client netip.Addr) string {
	client = client.Unmap().WithZone("")
	if client.Is6() {
		network, _ := client.Prefix(64) // never fails
		return network.String()
	}
	return client.String()
}

// Login exchanges an email and a password for tokens (section 4.2 of the interface). client is the address of the
// request. For an unknown email and a wrong password, it returns the same [ErrUnauthorized] after the same work. The
// error is [ErrTooManyTries] if the login must wait because of earlier failures, and [ErrBusy] if too many password
// comparisons are queued.
func (s *Service) Login(ctx context.Context, client netip.Addr, email, password string) (TokenPair, error) {
	user, err := s.authenticate(ctx, client, email, password)
	if err != nil {
		return TokenPair{}, err
	}
	now := s.now()
	plain, token := s.newSession(user.ID, now)
	if err := s.Store.AddRefreshToken(ctx, token, user.PasswordHash, now); err != nil {
		return TokenPair{}, err
	}
	s.seeAddress(ctx, token, client, now)
	return s.pair(token, plain, now)
}

// seeAddress makes an address known to the user of a session. It ignores errors, because the session has begun; the
// next refresh or login tries again.
func (s *Service) seeAddress(ctx context.Context, session RefreshToken, client netip.Addr, now time.Time) {
	_ = s.Store.SeeAddress(ctx, session.UserID, addressOf(client), now)
}

// authenticate returns the user with an email and a password, as Login does.
func (s *Service) authenticate(ctx context.Context, client netip.Addr, email, password string) (User, error) {
	email = s.NormalizeEmail(email)
	address := addressOf(client)
	user, err := s.Store.UserByEmail(ctx, email)
	unknown := errors.Is(err, ErrNotFound) || !user.DisabledAt.IsZero()
	if err != nil && !unknown {
		return User{}, err
	}
	known, err := s.Store.KnowsAddress(ctx, user.ID, address, s.now().Add(-AddressMemory))
	if err != nil {
		return User{}, err
	}
	throttles := throttles(email, user.PasswordHash, address, known)
	// Logins with the same account and address run one at a time. Otherwise, concurrent logins with the right
	// password would be delayed by each other, because each counts as failed until its password has been
	// compared.
	release, err := s.comparisons.logins.Acquire(ctx, throttles[0].Key)
	if err != nil {
		return User{}, err
	}
	defer release()
	if wait, err := s.Store.LoginWait(ctx, throttles, s.now()); err != nil || wait > 0 {
		return User{}, tooManyTries(err, wait)
	}
	done, err := s.comparisons.acquire(ctx, address, known)
	if err != nil {
		return User{}, err
	}
	defer done()
	// The login is counted as failed before the comparison, so that other daemons do not compare more guesses
	// than allowed in the meantime. Its time is not from before the queue, in which others may have failed.
	if wait, err := s.Store.CountLogin(ctx, throttles, s.now()); err != nil || wait > 0 {
		return User{}, tooManyTries(err, wait)
	}
	err = s.checkPassword(ctx, user, unknown, password)
	done()
	if errors.Is(err, ErrUnauthorized) {
		return User{}, err
	}
	if err := s.Store.ReleaseLoginAttempt(context.WithoutCancel(ctx), throttles, err == nil); err != nil {
		return User{}, err
	}
	return user, err
}

func tooManyTries(err error, wait time.Duration) error {
	if err != nil {
		return err
	}
	return ErrTooManyTries.After(wait)
}

// checkPassword returns [ErrUnauthorized] unless password is the password of user. That of an unknown user is hashed,
// which is the work of a comparison.
func (s *Service) checkPassword(ctx context.Context, user User, unknown bool, password string) (err error) {
	same := false
	if unknown {
		_, err = s.Passwords.Hash(ctx, password)
	} else {
		same, err = s.Passwords.Compare(ctx, password, user.PasswordHash)
	}
	if err == nil && !same {
		err = ErrUnauthorized
	}
	return err
}
