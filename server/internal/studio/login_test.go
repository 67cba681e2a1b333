package studio_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func TestLogin_acceptsAllSpellingsOfTheEmail(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "Zo\u00eb@Example.com")
		for _, email := range []string{" zo\u00eb@EXAMPLE.com", "zoe\u0308@example.com", "ZOE\u0308@example.com"} { // a letter, or two characters
			pair := try(service.Login(t.Context(), netip.Addr{}, email, "password"))(t)
			if pair.Access != "access:"+user.ID || pair.Refresh == "" {
				t.Errorf("got %q and a refresh token of %d bytes", pair.Access, len(pair.Refresh))
			}
			_, err := service.AddUser(t.Context(), "", email, "password")
			wantError(t, err, studio.ErrExists)
		}
	})
}

// workingPasswords calls work before each hash and comparison, which take most of the time of a login.
type workingPasswords struct {
	studio.Passwords
	work func() error
}

func (p workingPasswords) Hash(ctx context.Context, password string) (string, error) {
	if err := p.work(); err != nil {
		return "", err
	}
	return p.Passwords.Hash(ctx, password)
}

func (p workingPasswords) Compare(ctx context.Context, password, hash string) (bool, error) {
	if err := p.work(); err != nil {
		return false, err
	}
	return p.Passwords.Compare(ctx, password, hash)
}

func TestLogin_doesNotRevealWhetherAnEmailExists(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		var work atomic.Int32
		service.Passwords = workingPasswords{service.Passwords, func() error { work.Add(1); return nil }}
		_, wrong := service.Login(t.Context(), netip.Addr{}, "ada@example.com", "guess")
		_, unknown := service.Login(t.Context(), netip.Addr{}, "bob@example.com", "guess")
		if wrong != studio.ErrUnauthorized || unknown != studio.ErrUnauthorized {
			t.Errorf("wrong password: %v, unknown email: %v", wrong, unknown)
		}
		if got := work.Load(); got != 2 {
			t.Errorf("%d hashes and comparisons, want one for each login", got)
		}
	})
}

func address(text string) netip.Addr { return netip.MustParseAddr(text) }

// guess tries n wrong passwords. It fails the test if one of them is not compared.
func guess(t *testing.T, service *studio.Service, from netip.Addr, email string, n int) {
	t.Helper()
	for range n {
		_, err := service.Login(t.Context(), from, email, "guess")
		wantError(t, err, studio.ErrUnauthorized)
	}
}

// wantWait checks that err tells the login to wait for want.
func wantWait(t *testing.T, err error, want time.Duration) {
	t.Helper()
	limited := (*studio.Error)(nil)
	if !errors.As(err, &limited) || !errors.Is(err, studio.ErrTooManyTries) || limited.RetryAfter != want {
		t.Errorf("got %v (%+v), want to be asked to wait %v", err, limited, want)
	}
}

// queued is a store whose logins wait a minute for their comparison.
type queued struct {
	studio.Store
	clock *studiotest.Clock
}

func (q queued) LoginWait(ctx context.Context, throttles []studio.Throttle, now time.Time) (time.Duration, error) {
	defer q.clock.Add(time.Minute)
	return q.Store.LoginWait(ctx, throttles, now)
}

func TestLogin_doublesTheDelayAfterEachFailure(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		home := address("192.0.2.1")
		guess(t, service, home, "ada@example.com", 10)
		for wait := time.Second; wait < 15*time.Minute; wait *= 2 {
			clock.Add(-time.Millisecond) // as that of another daemon
			_, err := service.Login(t.Context(), home, "ada@example.com", "password")
			wantWait(t, err, wait+time.Millisecond)
			clock.Add(wait + time.Millisecond)
			guess(t, service, home, "ada@example.com", 1)
		}
		_, err := service.Login(t.Context(), home, "ada@example.com", "password")
		wantWait(t, err, 15*time.Minute)
		clock.Add(15 * time.Minute)
		try(service.Login(t.Context(), home, "ada@example.com", "password"))(t)
		guess(t, service, home, "ada@example.com", 10) // the failures have been reset
		clock.Add(-time.Hour)
		try(service.Login(t.Context(), home, "ada@example.com", "password"))(t)
		service.Store = queued{service.Store, clock}
		guess(t, service, home, "ada@example.com", 10)
		_, err = service.Login(t.Context(), home, "ada@example.com", "password")
		wantWait(t, err, time.Second) // since the last comparison
	})
}

func TestLogin_failuresElsewhereDoNotDelayKnownAddresses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		home, office := address("192.0.2.1"), address("192.0.2.2")
		pair := try(service.Login(t.Context(), home, "ada@example.com", "password"))(t)
		try(service.Refresh(t.Context(), office, pair.Refresh))(t) // the address of a device changes

		guess(t, service, address("198.51.100.1"), "ada@example.com", 10)
		try(service.Login(t.Context(), address("203.0.113.1"), "ada@example.com", "password"))(t) // from any address
		for i := range 4 {
			guess(t, service, address(fmt.Sprintf("198.51.100.%d", i+2)), "ada@example.com", 10)
		}
		_, err := service.Login(t.Context(), address("203.0.113.2"), "ada@example.com", "password")
		wantWait(t, err, time.Second) // 50 failures from many addresses delay logins from new addresses
		for _, known := range []netip.Addr{home, office, address("203.0.113.1")} {
			try(service.Login(t.Context(), known, "ada@example.com", "password"))(t)
		}
		clock.Add(studio.AddressMemory)
		guess(t, service, home, "ada@example.com", 10)
	})
}

func TestLogin_delaysAnAddressThatGuessesForManyAccounts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		home := address("2001:db8::1")
		try(service.Login(t.Context(), home, "ada@example.com", "password"))(t)
		for i := range 100 { // in one 64-bit network
			guess(t, service, address(fmt.Sprintf("2001:db8::%x", i+2)), fmt.Sprintf("%d@example.com", i), 1)
		}
		_, err := service.Login(t.Context(), address("2001:db8::2"), "bob@example.com", "guess")
		wantWait(t, err, time.Second)
		guess(t, service, address("2001:db8:0:1::2"), "bob@example.com", 1)
		try(service.Login(t.Context(), home, "ada@example.com", "password"))(t) // a known address does not wait
		clock.Add(studio.LoginMemory)
		prune(t, service, clock.Now().Add(time.Second))
		guess(t, service, address("2001:db8::2"), "bob@example.com", 10)
	})
}

func TestLogin_concurrentLoginsDoNotDelayEachOther(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		var group sync.WaitGroup
		for range 30 { // more than comparisons that can wait
			group.Go(func() {
				if _, err := service.Login(t.Context(), netip.Addr{}, "ada@example.com", "password"); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	})
}

func TestLogin_countsFailuresOnly(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		guess(t, service, netip.Addr{}, "ada@example.com", 9)
		passwords := service.Passwords
		service.Passwords = workingPasswords{passwords, func() error { return studio.ErrBusy }}
		for range 20 {
			_, err := service.Login(t.Context(), netip.Addr{}, "ada@example.com", "password")
			wantError(t, err, studio.ErrBusy)
		}
		service.Passwords = passwords
		guess(t, service, netip.Addr{}, "ada@example.com", 1)
		_, err := service.Login(t.Context(), netip.Addr{}, "ada@example.com", "password")
		wantWait(t, err, time.Second) // none of the failures is forgotten
	})
}

// Who knows an old password cannot undo a change of it either.
func TestLogin_failsIfThePasswordChangesMeanwhile(t *testing.T) {
	t.Parallel()
	onSQLite(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		passwords, current := service.Passwords, "password"
		change := workingPasswords{passwords, func() error {
			service.Passwords, current = passwords, current+"."
			return service.SetPassword(t.Context(), "ada@example.com", current)
		}}
		service.Passwords = change
		_, err := service.Login(t.Context(), netip.Addr{}, "ada@example.com", "password")
		wantError(t, err, studio.ErrUnauthorized)
		service.Passwords = change
		_, err = service.ChangePassword(t.Context(), netip.Addr{}, "ada@example.com", "password.", "of a thief")
		wantError(t, err, studio.ErrUnauthorized)
		try(service.Login(t.Context(), netip.Addr{}, "ada@example.com", current))(t)
	})
}

func TestRefresh_rotatesAndDetectsReuse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "ada@example.com")
		first := try(service.Login(t.Context(), netip.Addr{}, "ada@example.com", "password"))(t)
		other := try(service.Login(t.Context(), netip.Addr{}, "ada@example.com", "password"))(t)

		second := try(service.Refresh(t.Context(), netip.Addr{}, first.Refresh))(t)
		if second.Access != "access:"+user.ID || second.Refresh == first.Refresh {
			t.Error("a refresh must answer new tokens of the same user")
		}
		prune(t, service, service.Now()) // keeps the tokens that reveal a theft
		refused := func(token string) {
			t.Helper()
			_, err := service.Refresh(t.Context(), netip.Addr{}, token)
			wantError(t, err, studio.ErrUnauthorized)
		}
		refused(first.Refresh)
		refused(second.Refresh) // the family has been deleted
		refused("no such token")
		clock.Add(30*24*time.Hour - time.Second)
		last := try(service.Refresh(t.Context(), netip.Addr{}, other.Refresh))(t) // another login is not affected
		clock.Add(30 * 24 * time.Hour)
		refused(last.Refresh)
	})
}
