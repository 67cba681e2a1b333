package studio_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// The link for the first operator is valid for half an hour, until there is a later one, and until there is an
// operator. Other users do not matter.
func TestSetupLink_isForTheFirstOperator(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		clock := studiotest.NewClock()
		cfg := studiotest.Config(db, clock.Now)
		service := studio.New(cfg)
		newLink := func() string {
			t.Helper()
			return try(service.NewSetupLink(t.Context()))(t)
		}
		use := func(secret string) error {
			_, err := service.UseLink(t.Context(), netip.Addr{}, secret, "Ada@example.com", "a password")
			return err
		}
		expired := newLink()
		clock.Add(30*time.Minute - time.Second)
		try(service.OpenLink(t.Context(), expired))(t)
		clock.Add(time.Second)
		_, err := service.OpenLink(t.Context(), expired)
		wantError(t, err, studio.ErrLink)
		wantError(t, use(expired), studio.ErrLink)

		studiotest.AddUser(t, service, "bob@example.com")
		earlier, last := newLink(), newLink()
		wantError(t, use(earlier), studio.ErrLink)
		check(t, use(last))
		wantError(t, use(last), studio.ErrLink)
		ada := try(service.UserByEmail(t.Context(), "ada@example.com"))(t)
		workspaces, err := service.Workspaces(t.Context(), ada.ID)
		if ada.Role != studio.Operator || err != nil || len(workspaces) != 1 {
			t.Errorf("the first operator has the role %q and the workspaces %v, %v", ada.Role, workspaces, err)
		}
		_, err = service.NewSetupLink(t.Context())
		wantError(t, err, studio.ErrExists)
	})
}

// linksOf make a link of each purpose, and the email of its user.
var linksOf = map[studio.LinkPurpose]func(t *testing.T, service *studio.Service) (secret, email string){
	studio.SetupLink: func(t *testing.T, service *studio.Service) (secret, email string) {
		t.Helper()
		secret = try(service.NewSetupLink(t.Context()))(t)
		return secret, "olga@example.com"
	},
	studio.InviteLink: func(t *testing.T, service *studio.Service) (secret, email string) {
		t.Helper()
		secret = try(service.Invite(t.Context(), studio.User{}, "bob@example.com", "", false))(t)
		return secret, "bob@example.com"
	},
	studio.ResetLink: func(t *testing.T, service *studio.Service) (secret, email string) {
		t.Helper()
		studiotest.AddUser(t, service, "ada@example.com")
		secret = try(service.NewResetLink(t.Context(), studio.User{}, "ada@example.com"))(t)
		return secret, "ada@example.com"
	},
}

// eachLink runs a test with a link of each purpose on each database. newService returns another process with the
// database.
func eachLink(t *testing.T, test func(t *testing.T, newService func(change func(*studio.Config)) *studio.Service, purpose studio.LinkPurpose)) {
	t.Helper()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		for _, purpose := range []studio.LinkPurpose{studio.SetupLink, studio.InviteLink, studio.ResetLink} { // a setup link is for a database without users
			test(t, func(change func(*studio.Config)) *studio.Service {
				db := studiotest.Open(t, dsn)
				cfg := studiotest.Config(db, studiotest.NewClock().Now) // which stands still, so that no claim ends
				change(&cfg)
				return studio.New(cfg)
			}, purpose)
		}
	})
}

// Concurrent uses of a link, in several processes, cost one hash. The others are told to wait.
func TestUseLink_hashesOnePasswordForEachLink(t *testing.T) {
	t.Parallel()
	eachLink(t, func(t *testing.T, newService func(func(*studio.Config)) *studio.Service, purpose studio.LinkPurpose) {
		var hashed, worked atomic.Int32
		var others, uses sync.WaitGroup
		answered := make(chan struct{})
		secret, email := linksOf[purpose](t, newService(func(*studio.Config) {}))
		const processes, each = 2, 12
		others.Add(processes*each - 1)
		go func() { others.Wait(); close(answered) }()
		work := func() error { // the first hash takes until the others have got their answers
			if hashed.Add(1) == 1 {
				select {
				case <-answered:
				case <-time.After(harness.Timeout):
				}
			}
			return nil
		}
		for range processes {
			service := newService(func(cfg *studio.Config) { cfg.Passwords = workingPasswords{cfg.Passwords, work} })
			for range each {
				uses.Go(func() {
					_, err := service.UseLink(t.Context(), netip.Addr{}, secret, email, "a new password")
					if err == nil {
						worked.Add(1)
						return
					}
					others.Done()
					if limit := (*studio.Error)(nil); !errors.As(err, &limit) || !errors.Is(limit, studio.ErrBusy) || limit.RetryAfter != 10*time.Second {
						t.Errorf("%s: a use is answered %v", purpose, err)
					}
				})
			}
		}
		uses.Wait()
		if hashed.Load() != 1 || worked.Load() != 1 {
			t.Errorf("%d uses of a link of the purpose %s cost %d hashes, and %d worked", processes*each, purpose, hashed.Load(), worked.Load())
		}
	})
}

// A use that ends without an answer, as after a crash, keeps the link for ten seconds, also if the clock is set back.
// Neither a new link nor a use ends one of another email. A link that is gone changes no password, and a disabled user
// begins no session.
func TestUseLink_worksAgainAfterACrash(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		clock := studiotest.NewClock()
		cfg := studiotest.Config(db, clock.Now)
		service := studio.New(cfg)
		for _, later := range []time.Duration{10 * time.Second, -time.Second} {
			secret := fmt.Sprint("bob", later)
			hash := sha256.Sum256([]byte(secret))
			check(t, db.AddLink(t.Context(), studio.Link{
				Hash: hash[:], Purpose: studio.InviteLink, Email: secret + "@example.com", ExpiresAt: clock.Now().Add(time.Hour),
			}))
			check(t, db.ClaimLink(t.Context(), hash[:], clock.Now(), clock.Now().Add(10*time.Second)))
			use := func() error {
				_, err := service.UseLink(t.Context(), netip.Addr{}, secret, "", "a new password")
				return err
			}
			wantError(t, use(), studio.ErrBusy)
			check(t, db.AddLink(t.Context(), studio.Link{Hash: []byte(secret), Purpose: studio.InviteLink, Email: secret, ExpiresAt: clock.Now()}))
			clock.Add(later)
			check(t, use())
			try(db.Link(t.Context(), []byte(secret)))(t)
			user := try(service.UserByEmail(t.Context(), secret+"@example.com"))(t)
			wantError(t, db.ResetPassword(t.Context(), hash[:], user.ID, "hash", studio.RefreshToken{}, clock.Now()), studio.ErrNotFound)
			check(t, db.SetDisabled(t.Context(), user.ID, clock.Now(), clock.Now()))
			wantError(t, db.SetPassword(t.Context(), user.ID, "", "hash", studio.RefreshToken{Hash: hash[:]}, clock.Now()), studio.ErrNotFound)
		}
	})
}

// brokenAfterwards fails after a password was changed or a user was added.
type brokenAfterwards struct {
	*store.Store

	broken *atomic.Bool
}

func (b brokenAfterwards) failure() error {
	if b.broken.Load() {
		return studio.ErrBusy
	}
	return nil
}

func (b brokenAfterwards) changed(err error) error {
	b.broken.Store(err == nil)
	return err
}

func (b brokenAfterwards) SetPassword(ctx context.Context, userID, current, hash string, session studio.RefreshToken, now time.Time) error {
	return b.changed(b.Store.SetPassword(ctx, userID, current, hash, session, now))
}

func (b brokenAfterwards) Join(ctx context.Context, hash []byte, user studio.User, workspace studio.Workspace, session studio.RefreshToken) error {
	return b.changed(b.Store.Join(ctx, hash, user, workspace, session))
}

func (b brokenAfterwards) ResetPassword(ctx context.Context, hash []byte, userID, passwordHash string, session studio.RefreshToken, now time.Time) error {
	return b.changed(b.Store.ResetPassword(ctx, hash, userID, passwordHash, session, now))
}

func (b brokenAfterwards) RemoveUser(ctx context.Context, userID string, now time.Time) error {
	return b.changed(b.Store.RemoveUser(ctx, userID, now))
}

func (b brokenAfterwards) NextBatch(ctx context.Context, id string, now time.Time) (studio.Erased, error) {
	erased, err := b.Store.NextBatch(ctx, id, now)
	return erased, errors.Join(b.failure(), err)
}

func (b brokenAfterwards) AddRefreshToken(ctx context.Context, token studio.RefreshToken, passwordHash string, now time.Time) error {
	return errors.Join(b.failure(), b.changed(b.Store.AddRefreshToken(ctx, token, passwordHash, now)))
}

func (b brokenAfterwards) UserByEmail(ctx context.Context, email string) (studio.User, error) {
	user, err := b.Store.UserByEmail(ctx, email)
	return user, errors.Join(b.failure(), err)
}

func (b brokenAfterwards) KnowsAddress(ctx context.Context, userID, address string, after time.Time) (bool, error) {
	known, err := b.Store.KnowsAddress(ctx, userID, address, after)
	return known, errors.Join(b.failure(), err)
}

func (b brokenAfterwards) SeeAddress(context.Context, string, string, time.Time) error {
	return b.failure()
}

// Whatever changes a password, begins a session or removes a user succeeds if the change was made, although the
// database fails right after it.
func TestSessions_beginWithTheChange(t *testing.T) {
	t.Parallel()
	eachLink(t, func(t *testing.T, newService func(func(*studio.Config)) *studio.Service, purpose studio.LinkPurpose) {
		secret, email := linksOf[purpose](t, newService(func(*studio.Config) {}))
		var broken atomic.Bool
		service := newService(func(cfg *studio.Config) {
			db := brokenAfterwards{cfg.Store.(*store.Store), &broken}
			cfg.Store = db
		})
		client := address("192.0.2.1")
		for _, begin := range []func() (token string, err error){
			func() (string, error) { return service.UseLink(t.Context(), client, secret, email, "a new password") },
			func() (string, error) {
				return service.ChangePassword(t.Context(), client, email, "a new password", "another password")
			},
			func() (string, error) {
				pair, err := service.Login(t.Context(), client, email, "another password")
				return pair.Refresh, err
			},
		} {
			token, err := begin()
			if !broken.Swap(false) || err != nil {
				t.Errorf("%s: the change is reported as %v", purpose, err)
				continue
			}
			user, _, err := service.Session(t.Context(), token)
			if check(t, err); user.Email != email {
				t.Errorf("the session is of %s", user.Email)
			}
		}
		if purpose == studio.InviteLink { // others may be the last operator
			user := try(service.UserByEmail(t.Context(), email))(t)
			check(t, service.Leave(t.Context(), client, user, "another password"))
			if !broken.Load() {
				t.Error("the user is not removed")
			}
		}
	})
}
