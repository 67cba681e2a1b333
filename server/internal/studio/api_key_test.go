package studio_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func TestAPIKey_isValidUntilItExpiresOrIsRevoked(t *testing.T) {
	t.Parallel()
	onSQLite(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		ada, bob := studiotest.AddUser(t, service, "ada@example.com"), studiotest.AddUser(t, service, "bob@example.com")
		workspace := try(service.AddWorkspace(t.Context(), "", "Films"))(t)
		check(t, service.AddMember(t.Context(), workspace.ID, ada.Email))
		add := func(key studio.APIKey) (studio.APIKey, []byte) {
			t.Helper()
			added, secret, err := service.AddAPIKey(t.Context(), key)
			check(t, err)
			hash, ok := studio.HashAPIKey(secret)
			if !ok || !regexp.MustCompile(`^avs_[0-9A-Za-z]{38}$`).MatchString(secret) {
				t.Fatal("the key has another form")
			}
			return added, hash
		}
		reading, readingHash := add(studio.APIKey{UserID: ada.ID, Name: " batch ", ReadOnly: true, WorkspaceID: workspace.ID})
		_, expiring := add(studio.APIKey{UserID: ada.ID, Name: "short", ExpiresAt: clock.Now().Add(time.Hour)})
		_, bobs := add(studio.APIKey{UserID: bob.ID, Name: "batch"})

		found := try(service.CheckAPIKey(t.Context(), readingHash))(t)
		if found.ID != reading.ID || found.UserID != ada.ID || found.Name != "batch" || !found.ReadOnly || found.WorkspaceID != workspace.ID {
			t.Errorf("the key is %+v", found)
		}
		keys := try(service.APIKeys(t.Context(), ada.ID))(t)
		if len(keys) != 2 || keys[0].Name != "short" || !keys[0].UsedAt.IsZero() || keys[1].UsedAt.IsZero() {
			t.Errorf("the keys are %+v", keys)
		}

		check(t, service.AddMember(t.Context(), workspace.ID, bob.Email)) // who stays
		check(t, service.SetUserEnabled(t.Context(), studio.User{}, ada.Email, false))
		_, err := service.CheckAPIKey(t.Context(), readingHash)
		wantError(t, err, studio.ErrUnauthorized)
		check(t, service.SetUserEnabled(t.Context(), studio.User{}, ada.Email, true))
		check(t, service.ChangeMember(t.Context(), studio.User{}, workspace.ID, ada.Email, false))
		_, err = service.CheckAPIKey(t.Context(), readingHash)
		wantError(t, err, studio.ErrUnauthorized)
		check(t, service.AddMember(t.Context(), workspace.ID, ada.Email))

		clock.Add(time.Hour)
		_, err = service.CheckAPIKey(t.Context(), expiring)
		wantError(t, err, studio.ErrUnauthorized)
		wantError(t, service.RevokeAPIKey(t.Context(), bob.ID, reading.ID), studio.ErrNotFound)
		check(t, service.RevokeAPIKey(t.Context(), ada.ID, reading.ID))
		_, err = service.CheckAPIKey(t.Context(), readingHash)
		wantError(t, err, studio.ErrUnauthorized)
		check(t, studiotest.DeleteUser(t.Context(), service, bob.Email))
		_, err = service.CheckAPIKey(t.Context(), bobs)
		wantError(t, err, studio.ErrUnauthorized)
	})
}

func TestAddAPIKey_refusesWhatNoKeyCanBe(t *testing.T) {
	t.Parallel()
	onSQLite(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		ada := studiotest.AddUser(t, service, "ada@example.com")
		workspace := try(service.AddWorkspace(t.Context(), "", "Films"))(t)
		for want, key := range map[error]studio.APIKey{
			studio.ErrAPIKeyName: {UserID: ada.ID, Name: strings.Repeat("ä", studio.MaxName+1)},
			studio.ErrForbidden:  {UserID: ada.ID, Name: "batch", WorkspaceID: workspace.ID},
			studio.ErrNotFound:   {UserID: workspace.ID, Name: "batch"},
		} {
			_, _, err := service.AddAPIKey(t.Context(), key)
			wantError(t, err, want)
		}
		for range studio.MaxAPIKeys {
			_, _, err := service.AddAPIKey(t.Context(), studio.APIKey{UserID: ada.ID, Name: "batch"})
			check(t, err)
		}
		for want, workspaceID := range map[error]string{studio.ErrTooManyAPIKeys: "", studio.ErrForbidden: workspace.ID} {
			_, _, err := service.AddAPIKey(t.Context(), studio.APIKey{UserID: ada.ID, Name: "batch", WorkspaceID: workspaceID})
			wantError(t, err, want)
		}
	})
}

// A mistyped key is refused without the store.
func TestHashAPIKey_findsTypingErrors(t *testing.T) {
	t.Parallel()
	secret := studio.NewAPIKey()
	if _, ok := studio.HashAPIKey(secret); !ok {
		t.Error("a key has no hash")
	}
	for i := range secret {
		other := byte('0')
		if secret[i] == other {
			other = '1'
		}
		if _, ok := studio.HashAPIKey(secret[:i] + string(other) + secret[i+1:]); ok {
			t.Errorf("a typing error at %d is not found", i)
		}
	}
	for _, text := range []string{"", secret[:len(secret)-1], secret + "0", strings.TrimPrefix(secret, studio.APIKeyPrefix)} {
		if _, ok := studio.HashAPIKey(text); ok {
			t.Errorf("%d characters are a key", len(text))
		}
	}
}
