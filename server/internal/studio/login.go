package studio

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/netip"
	"sync"
	"time"
)

// LoginMemory is how long after the last failed try to log in the failed tries count.
const LoginMemory = time.Hour

// AddressMemory is how long an address is known after a login or a refresh from it.
const AddressMemory = RefreshTokenLifetime

// Throttle makes failed tries that share a key hold the next one up: for a second after the last
// of the first Free ones, and twice as long after each further one, up to Longest.
type Throttle struct {
	Key     string
	Free    int
	Longest time.Duration
	// Forgets makes a login that succeeds forget the failures before it.
	Forgets bool
}

// Wait returns how long the next try has to wait when there were so many failures.
func (t Throttle) Wait(failures int, last, now time.Time) time.Duration {
	if failures < t.Free {
		return 0
	}
	delay := time.Second << min(failures-t.Free, 20)
	return max(0, last.Add(min(delay, t.Longest)).Sub(now))
}

// throttles returns what holds up a try to log in with an email from an address. Failures from
// elsewhere hold up nobody whose address is known, and those before a change of the password nobody.
func throttles(email, passwordHash, address string, known bool) []Throttle {
	all := []Throttle{{Key: loginKey("pair", email, passwordHash, address), Free: 10, Longest: 15 * time.Minute, Forgets: true}}
	if !known {
		all = append(all,
			Throttle{Key: loginKey("account", email, passwordHash), Free: 50, Longest: time.Minute},
			Throttle{Key: loginKey("address", address), Free: 100, Longest: time.Minute})
	}
	return all
}

// loginKey is what tries are counted by. What is sent as an email may be anything of any length, and
// is not kept.
func loginKey(kind string, parts ...string) string {
	hash := sha256.New()
	for _, part := range append([]string{kind}, parts...) {
		size := len(part)
		_, _ = hash.Write([]byte{byte(size >> 24), byte(size >> 16), byte(size >> 8), byte(size)}) //nolint:gosec // of a length
		_, _ = hash.Write([]byte(part))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// addressOf is what addresses are told apart by: an IPv4 address, or the network of an IPv6 address,
// in which its owner has all.
func addressOf(client netip.Addr) string {
	client = client.Unmap().WithZone("")
	if client.Is6() {
		network, _ := client.Prefix(64) // it has as many bits
		return network.String()
	}
	return client.String()
}

// Login exchanges email and password for tokens (interface, 4.2); client is where the request comes
// from. An unknown email and a wrong password are the same [ErrUnauthorized] after the same work.
// Tries that come too soon after too many failed ones are an [ErrTooManyTries], and those for which
// there is no turn to compare the password an [ErrBusy].
func (s *Service) Login(ctx context.Context, client netip.Addr, email, password string) (TokenPair, error) {
	email, now := NormalizeEmail(email), s.now()
	address := addressOf(client)
	user, err := s.Store.UserByEmail(ctx, email)
	unknown := errors.Is(err, ErrNotFound)
	if err != nil && !unknown {
		return TokenPair{}, err
	}
	known, err := s.Store.KnowsAddress(ctx, user.ID, address, now.Add(-AddressMemory))
	if err != nil {
		return TokenPair{}, err
	}
	throttles := throttles(email, user.PasswordHash, address, known)
	// One at a time for an account and an address, so that logins at once with the right password
	// do not hold each other up as failed ones.
	release, err := s.pairs.enter(ctx, throttles[0].Key)
	if err != nil {
		return TokenPair{}, err
	}
	defer release()
	now = s.now()
	if wait, err := s.Store.LoginWait(ctx, throttles, now); err != nil || wait > 0 {
		return TokenPair{}, tooManyTries(err, wait)
	}
	done, err := s.turns.take(ctx, address, known)
	if err != nil {
		return TokenPair{}, err
	}
	defer done()
	// Counted before it is judged, so that no other daemon compares a guess meanwhile that would be
	// one too many.
	if wait, err := s.Store.CountLogin(ctx, throttles, now); err != nil || wait > 0 {
		return TokenPair{}, tooManyTries(err, wait)
	}
	err = s.checkPassword(ctx, user, unknown, password)
	done()
	if errors.Is(err, ErrUnauthorized) {
		return TokenPair{}, err
	}
	if err := s.Store.UncountLogin(context.WithoutCancel(ctx), throttles, err == nil); err != nil {
		return TokenPair{}, err
	}
	if err != nil {
		return TokenPair{}, err
	}
	pair, err := s.startFamily(ctx, user, now)
	if err == nil {
		err = s.Store.SeeAddress(ctx, user.ID, address, now)
	}
	return pair, err
}

func tooManyTries(err error, wait time.Duration) error {
	if err != nil {
		return err
	}
	return &LimitError{Limit: ErrTooManyTries, RetryAfter: wait}
}

// checkPassword returns [ErrUnauthorized] unless the password is that of the user.
func (s *Service) checkPassword(ctx context.Context, user User, unknown bool, password string) error {
	decoy, err := s.decoy.get(ctx, s) // for every login, because making it takes time too
	if err != nil {
		return err
	}
	if unknown {
		user.PasswordHash = decoy
	}
	same, err := s.Passwords.Compare(ctx, password, user.PasswordHash)
	if err == nil && (unknown || !same) {
		err = ErrUnauthorized
	}
	return err
}

// decoy is the hash that the password for an unknown email is compared with.
type decoy struct {
	mu   sync.Mutex
	hash string
}

func (d *decoy) get(ctx context.Context, s *Service) (hash string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hash == "" {
		d.hash, err = s.Passwords.Hash(ctx, s.NewSecret())
	}
	return d.hash, err
}
