package studio_test

import (
	"net/netip"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A session ends when its token is exchanged, expires or is ended. All sessions of a user end when the
// password changes or the tokens are revoked.
func TestSession_endsWithItsToken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		ada := studiotest.AddUser(t, service, "ada@example.com")
		password := "password"
		for name, end := range map[string]func(token string) error{
			"exchanged": func(token string) error {
				_, err := service.Refresh(t.Context(), netip.Addr{}, token)
				return err
			},
			"expired": func(string) error { clock.Add(studio.RefreshTokenLifetime); return nil },
			"ended":   func(token string) error { return service.EndSession(t.Context(), token) },
			"revoked": func(string) error { return service.RevokeTokens(t.Context(), ada.Email) },
			"password": func(string) error {
				password = "another password"
				return service.SetPassword(t.Context(), ada.Email, password)
			},
		} {
			pair, err := service.Login(t.Context(), netip.Addr{}, ada.Email, password)
			check(t, err)
			for range 2 {
				user, _, err := service.Session(t.Context(), pair.Refresh)
				check(t, err)
				if user.ID != ada.ID || user.Email != ada.Email || user.PasswordHash != "" {
					t.Errorf("the session is of %+v", user)
				}
			}
			check(t, end(pair.Refresh))
			_, _, err = service.Session(t.Context(), pair.Refresh)
			if wantError(t, err, studio.ErrUnauthorized); t.Failed() {
				t.Fatal(name)
			}
		}
		check(t, service.EndSession(t.Context(), "no token"))
	})
}

func TestWorkspaces_returnsThoseOfTheUser(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		studiotest.AddUser(t, service, "ada@example.com")
		bob := studiotest.AddUser(t, service, "bob@example.com")
		for _, name := range []string{"Films", "Ada's", "Songs"} {
			workspace, err := service.AddWorkspace(t.Context(), "", name)
			check(t, err)
			if name != "Ada's" {
				check(t, service.AddMember(t.Context(), workspace.ID, bob.Email))
			} else {
				check(t, service.AddMember(t.Context(), workspace.ID, "ada@example.com"))
			}
		}
		got, err := service.Workspaces(t.Context(), bob.ID)
		check(t, err)
		if len(got) != 2 || got[0].Name != "Films" || got[1].Name != "Songs" {
			t.Errorf("got %v", got)
		}
	})
}
