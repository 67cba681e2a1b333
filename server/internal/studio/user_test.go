package studio_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// each runs a test with a service on every kind of database.
func each(t *testing.T, test func(t *testing.T, service *studio.Service, clock *studiotest.Clock)) {
	t.Helper()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		clock := studiotest.NewClock()
		test(t, studio.New(studiotest.Config(db, clock.Now)), clock)
	})
}

func wantError(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("error is %v, want %v", got, want)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLogin_takesTheEmailInAnyCase(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "Ada@Example.com")
		pair, err := service.Login(t.Context(), " ada@EXAMPLE.com", "password")
		check(t, err)
		if pair.Access != "access:"+user.ID || pair.Refresh == "" {
			t.Errorf("got %q and a refresh token of %d bytes", pair.Access, len(pair.Refresh))
		}
	})
}

// countingPasswords counts comparisons, which are what takes time in a login.
type countingPasswords struct {
	studio.Passwords
	compared atomic.Int32
}

func (p *countingPasswords) Compare(ctx context.Context, password, hash string) (bool, error) {
	p.compared.Add(1)
	return p.Passwords.Compare(ctx, password, hash)
}

func TestLogin_unknownEmailAndWrongPasswordAreTheSame(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		cfg := studiotest.Config(db, studiotest.NewClock().Now)
		passwords := &countingPasswords{Passwords: cfg.Passwords}
		cfg.Passwords = passwords
		service := studio.New(cfg)
		studiotest.AddUser(t, service, "ada@example.com")

		_, wrong := service.Login(t.Context(), "ada@example.com", "guess")
		_, unknown := service.Login(t.Context(), "bob@example.com", "guess")
		if wrong != studio.ErrUnauthorized || unknown != studio.ErrUnauthorized {
			t.Errorf("wrong password: %v, unknown email: %v", wrong, unknown)
		}
		if got := passwords.compared.Load(); got != 2 {
			t.Errorf("%d comparisons, want one for each login", got)
		}
	})
}

func TestLogin_isClosedAfterTooManyTriesAndOpensAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		for range 10 {
			_, err := service.Login(t.Context(), "ada@example.com", "guess")
			wantError(t, err, studio.ErrUnauthorized)
		}
		clock.Add(5 * time.Minute)
		_, err := service.Login(t.Context(), "ada@example.com", "password")
		limited := (*studio.LimitError)(nil)
		if !errors.As(err, &limited) || limited.RetryAfter != 10*time.Minute {
			t.Fatalf("got %v, want to be asked to wait for the rest of 15 minutes", err)
		}
		clock.Add(limited.RetryAfter)
		_, err = service.Login(t.Context(), "ada@example.com", "password")
		check(t, err)
	})
}

func TestLogin_manyAtOnceDoNotCloseAnAccount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		var group sync.WaitGroup
		for range 30 {
			group.Go(func() {
				if _, err := service.Login(t.Context(), "ada@example.com", "password"); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	})
}

func TestLogin_manyGuessesAtOnceAreCounted(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		cfg := studiotest.Config(db, studiotest.NewClock().Now)
		passwords := &countingPasswords{Passwords: cfg.Passwords}
		cfg.Passwords = passwords
		service := studio.New(cfg)
		studiotest.AddUser(t, service, "ada@example.com")
		var group sync.WaitGroup
		for range 30 {
			group.Go(func() {
				if _, err := service.Login(t.Context(), "ada@example.com", "guess"); err == nil {
					t.Error("a guess is right")
				}
			})
		}
		group.Wait()
		if got := passwords.compared.Load(); got != 10 {
			t.Errorf("%d guesses were compared, want 10", got)
		}
	})
}

// busyPasswords never compares.
type busyPasswords struct{ studio.Passwords }

func (busyPasswords) Compare(context.Context, string, string) (bool, error) {
	return false, studio.ErrBusy
}

func TestLogin_onlyFailedTriesCount(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		cfg := studiotest.Config(db, studiotest.NewClock().Now)
		studiotest.AddUser(t, studio.New(cfg), "ada@example.com")
		busy := cfg
		busy.Passwords = busyPasswords{cfg.Passwords}
		for range 20 {
			_, err := studio.New(busy).Login(t.Context(), "ada@example.com", "password")
			wantError(t, err, studio.ErrBusy)
		}
		_, err := studio.New(cfg).Login(t.Context(), "ada@example.com", "password")
		check(t, err)
	})
}

// changingPasswords changes the password while it is compared.
type changingPasswords struct {
	studio.Passwords
	change func()
}

func (p changingPasswords) Compare(ctx context.Context, password, hash string) (bool, error) {
	p.change()
	return p.Passwords.Compare(ctx, password, hash)
}

func TestLogin_endsWhenThePasswordChangesMeanwhile(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		cfg := studiotest.Config(db, studiotest.NewClock().Now)
		service := studio.New(cfg)
		studiotest.AddUser(t, service, "ada@example.com")
		changing := cfg
		changing.Passwords = changingPasswords{cfg.Passwords, func() {
			check(t, service.SetPassword(t.Context(), "ada@example.com", "another"))
		}}
		_, err := studio.New(changing).Login(t.Context(), "ada@example.com", "password")
		wantError(t, err, studio.ErrUnauthorized)
	})
}

func TestLogin_successForgetsEarlierTries(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		for range 3 {
			for range 9 {
				_, err := service.Login(t.Context(), "ada@example.com", "guess")
				wantError(t, err, studio.ErrUnauthorized)
			}
			_, err := service.Login(t.Context(), "ada@example.com", "password")
			check(t, err)
		}
	})
}

func TestRefresh_rotatesAndTakesReuseForTheft(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "ada@example.com")
		first, err := service.Login(t.Context(), "ada@example.com", "password")
		check(t, err)
		other, err := service.Login(t.Context(), "ada@example.com", "password")
		check(t, err)

		second, err := service.Refresh(t.Context(), first.Refresh)
		check(t, err)
		if second.Access != "access:"+user.ID || second.Refresh == first.Refresh {
			t.Error("a refresh must answer new tokens of the same user")
		}
		check(t, service.Store.(*store.Store).Prune(t.Context(), service.Now())) // keeps what shows a theft
		_, err = service.Refresh(t.Context(), first.Refresh)
		wantError(t, err, studio.ErrUnauthorized)
		_, err = service.Refresh(t.Context(), second.Refresh)
		wantError(t, err, studio.ErrUnauthorized) // the family is gone
		_, err = service.Refresh(t.Context(), other.Refresh)
		check(t, err) // another login is not
	})
}

func TestRefresh_refusesWhatIsUnknownOrExpired(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		pair, err := service.Login(t.Context(), "ada@example.com", "password")
		check(t, err)
		_, err = service.Refresh(t.Context(), "no such token")
		wantError(t, err, studio.ErrUnauthorized)
		clock.Add(30 * 24 * time.Hour)
		_, err = service.Refresh(t.Context(), pair.Refresh)
		wantError(t, err, studio.ErrUnauthorized)
	})
}

func TestSetPassword_opensAnAccountThatIsClosed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		for range 11 {
			_, err := service.Login(t.Context(), "ada@example.com", "guess")
			if err == nil {
				t.Fatal("a guess is right")
			}
		}
		check(t, service.SetPassword(t.Context(), "ada@example.com", "another"))
		_, err := service.Login(t.Context(), "ada@example.com", "another")
		check(t, err)
	})
}

func TestSetPassword_endsEveryRefreshToken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		pair, err := service.Login(t.Context(), "ada@example.com", "password")
		check(t, err)
		check(t, service.SetPassword(t.Context(), "ada@example.com", "another"))
		_, err = service.Refresh(t.Context(), pair.Refresh)
		wantError(t, err, studio.ErrUnauthorized)
		_, err = service.Login(t.Context(), "ada@example.com", "password")
		wantError(t, err, studio.ErrUnauthorized)
		_, err = service.Login(t.Context(), "ada@example.com", "another")
		check(t, err)
		wantError(t, service.SetPassword(t.Context(), "bob@example.com", "another"), studio.ErrNotFound)
	})
}

func TestAddUser_refusesAnEmailThatIsTaken(t *testing.T) {
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
		clock.Add(12 * time.Hour) // the second rotation did not keep the first secret alive
		left, err := service.WebhookSecrets(t.Context(), user.ID)
		check(t, err)
		if len(left) != 2 || left[1] != rotated[0].Secret {
			t.Errorf("%d secrets a day after the first rotation, want the newer two", len(left))
		}
	})
}
