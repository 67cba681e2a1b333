package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// tokensOf are those of a session whose first refresh token was exchanged.
type tokensOf struct {
	user        studio.User
	first, last studio.TokenPair
}

// sessionEnds are the ways in which a session ends. Those of other users and other sessions of the user go on, except
// if all sessions of the user end.
func sessionEnds(ctx context.Context, at *studio.Service, s tokensOf) map[string]struct {
	all bool
	end func() error
} {
	nobody, email := netip.Addr{}, s.user.Email
	return map[string]struct {
		all bool
		end func() error
	}{
		"logout":                   {false, func() error { return at.EndSession(ctx, s.last.Refresh) }},
		"logout with a used token": {false, func() error { return at.EndSession(ctx, s.first.Refresh) }},
		"a token that is used again": {false, func() error {
			if _, err := at.Refresh(ctx, nobody, s.first.Refresh); !errors.Is(err, studio.ErrUnauthorized) {
				return fmt.Errorf("a token is used again: %w", err)
			}
			return nil
		}},
		"in the console": {false, func() error {
			_, id, err := at.Session(ctx, s.last.Refresh)
			if err != nil {
				return err
			}
			return at.EndSessionOf(ctx, s.user.ID, id)
		}},
		"a login beyond the hundredth": {false, func() error {
			for range studio.MaxSessions - 1 { // there is another session
				if _, err := at.Login(ctx, nobody, email, testPassword); err != nil {
					return err
				}
			}
			return nil
		}},
		"another password": {true, func() error {
			_, err := at.ChangePassword(ctx, nobody, email, testPassword, "another password")
			return err
		}},
		"a password by an operator": {true, func() error { return at.SetPassword(ctx, email, "another password") }},
		"a link for a password": {true, func() error {
			link, err := at.NewResetLink(ctx, studio.User{}, email)
			if err == nil {
				_, err = at.UseLink(ctx, nobody, link, "", "another password")
			}
			return err
		}},
		"by an operator":    {true, func() error { return at.EndSessions(ctx, studio.User{}, email) }},
		"the user disabled": {true, func() error { return at.SetUserEnabled(ctx, studio.User{}, email, false) }},
		"the user deleted":  {true, func() error { return at.RemoveUser(ctx, studio.User{}, email) }},
		"the user left":     {true, func() error { return at.Leave(ctx, nobody, s.user, testPassword) }},
	}
}

// A session ends with all tokens: at once on the daemon that ends it, and within two seconds on others.
func TestSession_endsWithAllItsTokens(t *testing.T) {
	t.Parallel()
	if studio.RevocationInterval > time.Second {
		t.Errorf("daemons read revocations every %v, which is too seldom for two seconds", studio.RevocationInterval)
	}
	first := startDaemon(t, func(cfg *daemonConfig) { cfg.Database = studiotest.NewPostgres(t) })
	second, _ := runDaemon(t, first.cfg)
	at, daemons := first.studio, []*daemon{first.daemon, second}
	for name := range sessionEnds(t.Context(), nil, tokensOf{}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user := try(at.AddUser(t.Context(), "", strings.ReplaceAll(name, " ", "-")+"@example.com", testPassword))(t)
			ended := openSession(t, at, user)
			other := openSession(t, at, user)
			var streams []eventStream
			for _, p := range daemons {
				streams = append(streams, openEvents(t, p.url(), ended.first.Access, ""), openEvents(t, p.url(), ended.last.Access, ""))
			}
			for _, stream := range streams {
				stream.next(t)
			}
			way := sessionEnds(t.Context(), at, ended)[name]
			check(t, way.end())

			for _, p := range daemons {
				for _, access := range []string{ended.first.Access, ended.last.Access} {
					refused := func() bool { return listStatus(t, p.url(), access) == http.StatusUnauthorized }
					if p == second {
						harness.Eventually(t, "an access token is refused elsewhere", refused)
					} else if !refused() {
						t.Fatal("an access token is accepted where the session has ended")
					}
				}
				if status := listStatus(t, p.url(), other.last.Access); status == http.StatusUnauthorized != way.all {
					t.Errorf("a token of another session of the user: status %d", status)
				}
			}
			for _, stream := range streams {
				if _, data := stream.next(t); !strings.Contains(data, `"status":401`) {
					t.Errorf("a stream ends with %s", data)
				}
			}
			for _, p := range daemons {
				_, err := p.studio.Refresh(t.Context(), netip.Addr{}, ended.last.Refresh)
				harness.WantError(t, err, studio.ErrUnauthorized)
				_, _, err = p.studio.Session(t.Context(), ended.last.Refresh)
				harness.WantError(t, err, studio.ErrUnauthorized)
			}
			check(t, first.client.Logout(t.Context(), gen.LogoutRequest{RefreshToken: ended.last.Refresh})) // there is no such token any more
		})
	}
}

// openSession returns the tokens of a session. A daemon whose clock is ahead has issued the last access token.
func openSession(t *testing.T, at *studio.Service, user studio.User) tokensOf {
	t.Helper()
	first := try(at.Login(t.Context(), netip.Addr{}, user.Email, testPassword))(t)
	last := try(at.Refresh(t.Context(), netip.Addr{}, first.Refresh))(t)
	_, id, err := at.Session(t.Context(), last.Refresh)
	check(t, err)
	last.Access = try(at.IssueAccessToken(studio.AccessToken{UserID: user.ID, SessionID: id, IssuedAt: time.Now().Add(time.Minute)}))(t)
	return tokensOf{user, first, last}
}
