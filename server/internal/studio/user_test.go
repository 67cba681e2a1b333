package studio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// each runs a test with a service on each kind of store.
func each(t *testing.T, test func(t *testing.T, service *studio.Service, clock *studiotest.Clock)) {
	t.Helper()
	studiotest.EachStore(t, func(t *testing.T, db studio.Store) {
		clock := studiotest.NewClock()
		test(t, studio.New(studiotest.Config(db, clock.Now)), clock)
	})
}

// prune deletes what a database no longer needs.
func prune(t *testing.T, service *studio.Service, now time.Time) {
	t.Helper()
	if db, ok := service.Store.(*store.Store); ok {
		check(t, db.Prune(t.Context(), now))
	}
}

func wantError(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("error is %v, want %v", got, want)
	}
}

var check = harness.Check

func TestLogin_acceptsAllSpellingsOfTheEmail(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "Zo\u00eb@Example.com")
		for _, email := range []string{" zo\u00eb@EXAMPLE.com", "zoe\u0308@example.com", "ZOE\u0308@example.com"} { // a letter, or two characters
			pair, err := service.Login(t.Context(), netip.Addr{}, email, "password")
			check(t, err)
			if pair.Access != "access:"+user.ID || pair.Refresh == "" {
				t.Errorf("got %q and a refresh token of %d bytes", pair.Access, len(pair.Refresh))
			}
			_, err = service.AddUser(t.Context(), "", email, "password")
			wantError(t, err, studio.ErrExists)
		}
	})
}

// countingPasswords counts comparisons, which take most of the time of a login.
type countingPasswords struct {
	studio.Passwords
	compared atomic.Int32
}

func (p *countingPasswords) Compare(ctx context.Context, password, hash string) (bool, error) {
	p.compared.Add(1)
	return p.Passwords.Compare(ctx, password, hash)
}

func TestLogin_doesNotRevealWhetherAnEmailExists(t *testing.T) {
	t.Parallel()
	studiotest.EachStore(t, func(t *testing.T, db studio.Store) {
		cfg := studiotest.Config(db, studiotest.NewClock().Now)
		passwords := &countingPasswords{Passwords: cfg.Passwords}
		cfg.Passwords = passwords
		service := studio.New(cfg)
		studiotest.AddUser(t, service, "ada@example.com")

		_, wrong := service.Login(t.Context(), netip.Addr{}, "ada@example.com", "guess")
		_, unknown := service.Login(t.Context(), netip.Addr{}, "bob@example.com", "guess")
		if wrong != studio.ErrUnauthorized || unknown != studio.ErrUnauthorized {
			t.Errorf("wrong password: %v, unknown email: %v", wrong, unknown)
		}
		if got := passwords.compared.Load(); got != 2 {
			t.Errorf("%d comparisons, want one for each login", got)
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
	limited := (*studio.LimitError)(nil)
	if !errors.As(err, &limited) || !errors.Is(err, studio.ErrTooManyTries) || limited.RetryAfter != want {
		t.Errorf("got %v (%+v), want to be asked to wait %v", err, limited, want)
	}
}

func TestLogin_doublesTheDelayAfterEachFailure(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		home := address("192.0.2.1")
		guess(t, service, home, "ada@example.com", 10)
		for wait := time.Second; wait < 15*time.Minute; wait *= 2 {
			_, err := service.Login(t.Context(), home, "ada@example.com", "password")
			wantWait(t, err, wait)
			clock.Add(wait)
			guess(t, service, home, "ada@example.com", 1)
		}
		_, err := service.Login(t.Context(), home, "ada@example.com", "password")
		wantWait(t, err, 15*time.Minute)
		clock.Add(15 * time.Minute)
		_, err = service.Login(t.Context(), home, "ada@example.com", "password")
		check(t, err)
		guess(t, service, home, "ada@example.com", 10) // the failures have been reset
	})
}

func TestLogin_failuresElsewhereDoNotDelayKnownAddresses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		home, office := address("192.0.2.1"), address("192.0.2.2")
		_, err := service.Login(t.Context(), home, "ada@example.com", "password")
		check(t, err)
		pair, err := service.Login(t.Context(), home, "ada@example.com", "password")
		check(t, err)
		_, err = service.Refresh(t.Context(), office, pair.Refresh) // the address of a device changes
		check(t, err)

		guess(t, service, address("198.51.100.1"), "ada@example.com", 10)
		_, err = service.Login(t.Context(), address("203.0.113.1"), "ada@example.com", "password")
		check(t, err) // from any address
		for i := range 4 {
			guess(t, service, address(fmt.Sprintf("198.51.100.%d", i+2)), "ada@example.com", 10)
		}
		_, err = service.Login(t.Context(), address("203.0.113.2"), "ada@example.com", "password")
		wantWait(t, err, time.Second) // 50 failures from many addresses delay logins from new addresses
		for _, known := range []netip.Addr{home, office, address("203.0.113.1")} {
			_, err = service.Login(t.Context(), known, "ada@example.com", "password")
			check(t, err)
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
		_, err := service.Login(t.Context(), home, "ada@example.com", "password")
		check(t, err)
		for i := range 100 { // in one 64-bit network
			guess(t, service, address(fmt.Sprintf("2001:db8::%x", i+2)), fmt.Sprintf("%d@example.com", i), 1)
		}
		_, err = service.Login(t.Context(), address("2001:db8::2"), "bob@example.com", "guess")
		wantWait(t, err, time.Second)
		guess(t, service, address("2001:db8:0:1::2"), "bob@example.com", 1)
		_, err = service.Login(t.Context(), home, "ada@example.com", "password")
		check(t, err) // a known address does not wait
		clock.Add(studio.LoginMemory)
		prune(t, service, clock.Now().Add(time.Second))
		guess(t, service, address("2001:db8::2"), "bob@example.com", 10)
	})
}

func TestRevokeTokens_endsSessionsAndForgetsKnownAddresses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "ada@example.com")
		pair, err := service.Login(t.Context(), address("192.0.2.1"), "ada@example.com", "password")
		check(t, err)
		check(t, service.RevokeTokens(t.Context(), "Ada@example.com"))
		_, err = service.Refresh(t.Context(), address("192.0.2.1"), pair.Refresh)
		wantError(t, err, studio.ErrUnauthorized)
		if db, ok := service.Store.(*store.Store); ok {
			revoked, err := db.Revocations(t.Context(), clock.Now().Add(-time.Hour))
			if !revoked[user.ID].Equal(clock.Now()) || err != nil {
				t.Errorf("revoked at %v, %v", revoked[user.ID], err)
			}
		}
		known, err := service.Store.KnowsAddress(t.Context(), user.ID, "192.0.2.1", time.Time{}.AddDate(2000, 0, 0))
		if known || err != nil {
			t.Errorf("the address is known: %v, %v", known, err)
		}
		wantError(t, service.RevokeTokens(t.Context(), "bob@example.com"), studio.ErrNotFound)
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestDeleteUser_erasesTheRecordsOfTheUser(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		ada, bob := studiotest.AddUser(t, service, "ada@example.com"), studiotest.AddUser(t, service, "bob@example.com")
		media := service.Media.(*memstore.Media)
		var kept studio.Subject
		for _, user := range []studio.User{ada, bob} {
			lipsync, err := service.CreateLipsync(t.Context(), studio.Creation{
				UserID: user.ID, Request: []byte(`{}`), Webhook: studio.Registration{URL: "https://hooks.example.com/", Enabled: true},
			})
			check(t, err)
			check(t, media.Write(t.Context(), studio.ResultKey(lipsync.ID, "video.mp4"), strings.NewReader("video")))
			_, _, err = service.Upload(t.Context(), user.ID, "image/png", strings.NewReader("face"))
			check(t, err)
			_, err = service.WebhookSecrets(t.Context(), user.ID)
			check(t, err)
			_, err = service.Login(t.Context(), netip.Addr{}, user.Email, "password")
			check(t, err)
			kept = lipsync
		}
		workspace, err := service.AddWorkspace(t.Context(), "", "Team")
		check(t, err)
		deleted := errors.New("the user is not deleted yet")
		_, _, err = service.Upload(t.Context(), ada.ID, "image/png", readerFunc(func([]byte) (int, error) {
			deleted = service.DeleteUser(t.Context(), "ada@example.com") // during the upload
			return 0, io.EOF
		}))
		check(t, deleted)
		wantError(t, err, studio.ErrNotFound)
		_, err = service.WebhookSecrets(t.Context(), ada.ID)
		wantError(t, err, studio.ErrNotFound)
		wantError(t, service.Store.AddMember(t.Context(), workspace.ID, ada.ID), studio.ErrNotFound)

		_, err = service.Login(t.Context(), netip.Addr{}, "ada@example.com", "password")
		wantError(t, err, studio.ErrUnauthorized)
		wantError(t, service.DeleteUser(t.Context(), "ada@example.com"), studio.ErrNotFound)
		if keys := media.Keys(); len(keys) != 2 || keys[0] != studio.ResultKey(kept.ID, "video.mp4") {
			t.Errorf("the files left are %v, want the two of another user", keys)
		}
		if _, err := service.Store.Subject(t.Context(), kept.ID); err != nil {
			t.Errorf("the lip-sync of another user: %v", err)
		}
		studiotest.AddUser(t, service, "ada@example.com") // the email can be used again
		clock.Add(store.Retention + time.Hour)
		prune(t, service, clock.Now())
	})
}

func TestLogin_concurrentLoginsDoNotDelayEachOther(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		var group sync.WaitGroup
		for range 30 {
			group.Go(func() {
				if _, err := service.Login(t.Context(), netip.Addr{}, "ada@example.com", "password"); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	})
}

// busyPasswords fails all comparisons.
type busyPasswords struct{ studio.Passwords }

func (busyPasswords) Compare(context.Context, string, string) (bool, error) {
	return false, studio.ErrBusy
}

func TestLogin_countsFailuresOnly(t *testing.T) {
	t.Parallel()
	studiotest.EachStore(t, func(t *testing.T, db studio.Store) {
		cfg := studiotest.Config(db, studiotest.NewClock().Now)
		studiotest.AddUser(t, studio.New(cfg), "ada@example.com")
		busy := cfg
		busy.Passwords = busyPasswords{cfg.Passwords}
		for range 20 {
			_, err := studio.New(busy).Login(t.Context(), netip.Addr{}, "ada@example.com", "password")
			wantError(t, err, studio.ErrBusy)
		}
		_, err := studio.New(cfg).Login(t.Context(), netip.Addr{}, "ada@example.com", "password")
		check(t, err)
	})
}

// changingPasswords changes the password during the comparison.
type changingPasswords struct {
	studio.Passwords
	change func()
}

func (p changingPasswords) Compare(ctx context.Context, password, hash string) (bool, error) {
	p.change()
	return p.Passwords.Compare(ctx, password, hash)
}

func TestLogin_failsIfThePasswordChangesMeanwhile(t *testing.T) {
	t.Parallel()
	studiotest.EachStore(t, func(t *testing.T, db studio.Store) {
		cfg := studiotest.Config(db, studiotest.NewClock().Now)
		service := studio.New(cfg)
		studiotest.AddUser(t, service, "ada@example.com")
		changing := cfg
		changing.Passwords = changingPasswords{cfg.Passwords, func() {
			check(t, service.SetPassword(t.Context(), "ada@example.com", "another"))
		}}
		_, err := studio.New(changing).Login(t.Context(), netip.Addr{}, "ada@example.com", "password")
		wantError(t, err, studio.ErrUnauthorized)
	})
}

func TestLogin_successResetsFailures(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		for range 3 {
			for range 9 {
				_, err := service.Login(t.Context(), netip.Addr{}, "ada@example.com", "guess")
				wantError(t, err, studio.ErrUnauthorized)
			}
			_, err := service.Login(t.Context(), netip.Addr{}, "ada@example.com", "password")
			check(t, err)
		}
	})
}

func TestRefresh_rotatesAndDetectsReuse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "ada@example.com")
		first, err := service.Login(t.Context(), netip.Addr{}, "ada@example.com", "password")
		check(t, err)
		other, err := service.Login(t.Context(), netip.Addr{}, "ada@example.com", "password")
		check(t, err)

		second, err := service.Refresh(t.Context(), netip.Addr{}, first.Refresh)
		check(t, err)
		if second.Access != "access:"+user.ID || second.Refresh == first.Refresh {
			t.Error("a refresh must answer new tokens of the same user")
		}
		prune(t, service, service.Now()) // keeps the tokens that reveal a theft
		_, err = service.Refresh(t.Context(), netip.Addr{}, first.Refresh)
		wantError(t, err, studio.ErrUnauthorized)
		_, err = service.Refresh(t.Context(), netip.Addr{}, second.Refresh)
		wantError(t, err, studio.ErrUnauthorized) // the family has been deleted
		_, err = service.Refresh(t.Context(), netip.Addr{}, other.Refresh)
		check(t, err) // another login is not affected
	})
}

func TestLogin_endsTheOldestOfTooManySessions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		login := func() string {
			pair, err := service.Login(t.Context(), netip.Addr{}, "ada@example.com", "password")
			if err != nil {
				t.Error(err)
			}
			return pair.Refresh
		}
		used, oldest := login(), login()
		clock.Add(time.Second)
		pair, err := service.Refresh(t.Context(), netip.Addr{}, used)
		check(t, err)
		clock.Add(time.Second)
		sessions := make([]string, studio.MaxSessions+8)
		for i := range studio.MaxSessions - 2 {
			sessions[i] = login()
		}
		_, err = service.Session(t.Context(), oldest)
		check(t, err)
		sessions[studio.MaxSessions-2] = login()
		_, err = service.Session(t.Context(), oldest)
		wantError(t, err, studio.ErrUnauthorized)
		_, err = service.Session(t.Context(), pair.Refresh)
		check(t, err)
		var logins sync.WaitGroup
		for i := range sessions[studio.MaxSessions-1:] {
			logins.Go(func() { sessions[studio.MaxSessions-1+i] = login() })
		}
		logins.Wait()
		valid := 0
		for _, token := range sessions {
			if _, err := service.Session(t.Context(), token); err == nil {
				valid++
			}
		}
		if valid != studio.MaxSessions {
			t.Errorf("%d sessions are valid, want %d", valid, studio.MaxSessions)
		}
	})
}

func TestRefresh_rejectsUnknownAndExpiredTokens(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		pair, err := service.Login(t.Context(), netip.Addr{}, "ada@example.com", "password")
		check(t, err)
		_, err = service.Refresh(t.Context(), netip.Addr{}, "no such token")
		wantError(t, err, studio.ErrUnauthorized)
		clock.Add(30 * 24 * time.Hour)
		_, err = service.Refresh(t.Context(), netip.Addr{}, pair.Refresh)
		wantError(t, err, studio.ErrUnauthorized)
	})
}

func TestSetPassword_resetsFailures(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		for range 11 {
			_, err := service.Login(t.Context(), netip.Addr{}, "ada@example.com", "guess")
			if err == nil {
				t.Fatal("a guess is right")
			}
		}
		check(t, service.SetPassword(t.Context(), "ada@example.com", "another"))
		_, err := service.Login(t.Context(), netip.Addr{}, "ada@example.com", "another")
		check(t, err)
	})
}

func TestSetPassword_revokesRefreshTokens(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		pair, err := service.Login(t.Context(), netip.Addr{}, "ada@example.com", "password")
		check(t, err)
		check(t, service.SetPassword(t.Context(), "ada@example.com", "another"))
		_, err = service.Refresh(t.Context(), netip.Addr{}, pair.Refresh)
		wantError(t, err, studio.ErrUnauthorized)
		_, err = service.Login(t.Context(), netip.Addr{}, "ada@example.com", "password")
		wantError(t, err, studio.ErrUnauthorized)
		_, err = service.Login(t.Context(), netip.Addr{}, "ada@example.com", "another")
		check(t, err)
		wantError(t, service.SetPassword(t.Context(), "bob@example.com", "another"), studio.ErrNotFound)
	})
}

func TestAddUser_rejectsAnExistingEmail(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		_, err := service.AddUser(t.Context(), "", "ADA@example.com", "password")
		wantError(t, err, studio.ErrExists)
	})
}

func TestWebhookSecrets_overlapForADayAfterARotation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "ada@example.com")
		first, err := service.WebhookSecrets(t.Context(), user.ID)
		check(t, err)
		again, err := service.WebhookSecrets(t.Context(), user.ID)
		check(t, err)
		if len(first) != 1 || len(again) != 1 || first[0] != again[0] {
			t.Fatalf("%d and %d secrets, want one and the same", len(first), len(again))
		}
		rotated, err := service.RotateWebhookSecret(t.Context(), user.ID)
		check(t, err)
		if len(rotated) != 2 || rotated[1].Secret != first[0] {
			t.Fatalf("%d secrets after a rotation, want the new one and then the old one", len(rotated))
		}
		clock.Add(12 * time.Hour)
		both, err := service.RotateWebhookSecret(t.Context(), user.ID)
		check(t, err)
		if len(both) != 3 {
			t.Errorf("%d secrets after another rotation, want three", len(both))
		}
		clock.Add(12 * time.Hour) // the second rotation did not extend the first secret
		left, err := service.WebhookSecrets(t.Context(), user.ID)
		check(t, err)
		if len(left) != 2 || left[1] != rotated[0].Secret {
			t.Errorf("%d secrets a day after the first rotation, want the newer two", len(left))
		}
	})
}
