package studio_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// The link for the first operator is valid for half an hour, until there is a later one, and until there is a user.
func TestSetupLink_isForTheFirstOperator(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		clock := studiotest.NewClock()
		cfg := studiotest.Config(db, clock.Now)
		cfg.Operators = db
		service := studio.New(cfg)
		newLink := func() string {
			t.Helper()
			secret, err := service.NewSetupLink(t.Context())
			check(t, err)
			return secret
		}
		use := func(secret string) error {
			_, err := service.UseLink(t.Context(), netip.Addr{}, secret, "Ada@example.com", "a password")
			return err
		}
		expired := newLink()
		clock.Add(30*time.Minute - time.Second)
		_, err := service.OpenLink(t.Context(), expired)
		check(t, err)
		clock.Add(time.Second)
		_, err = service.OpenLink(t.Context(), expired)
		wantError(t, err, studio.ErrLink)
		wantError(t, use(expired), studio.ErrLink)

		earlier, last := newLink(), newLink()
		wantError(t, use(earlier), studio.ErrLink)
		check(t, use(last))
		wantError(t, use(last), studio.ErrLink)
		ada, err := service.UserByEmail(t.Context(), "ada@example.com")
		check(t, err)
		workspaces, err := service.Workspaces(t.Context(), ada.ID)
		if ada.Role != studio.Operator || err != nil || len(workspaces) != 1 {
			t.Errorf("the first user has the role %q and the workspaces %v, %v", ada.Role, workspaces, err)
		}
		_, err = service.NewSetupLink(t.Context())
		wantError(t, err, studio.ErrExists)
	})
}
