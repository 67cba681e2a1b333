package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// Each user who is not deleted is on exactly one page.
func TestStore_Users_arePaginated(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		for i := range 12 {
			check(t, db.CreateUser(t.Context(), studio.User{ID: fmt.Sprintf("u%02d", i), Email: fmt.Sprintf("u%d@example.com", i), CreatedAt: noon()}))
		}
		check(t, deleteUser(t, db, "u05", noon()))
		check(t, db.SetRole(t.Context(), "u03", studio.Operator))
		s := subject("s1", 0)
		s.UserID, s.RenderAt = "u03", noon()
		create(t, db, s)
		var seen []string
		for below := ""; ; below = seen[len(seen)-1] {
			page := try(db.Users(t.Context(), store.UserFilter{}, below, 5))(t)
			for _, u := range page {
				seen = append(seen, u.ID)
				if operator := u.ID == "u03"; operator != (u.Role == studio.Operator) || operator != (u.InProgress == 1) || !u.CreatedAt.Equal(noon()) {
					t.Errorf("%+v", u)
				}
			}
			if len(page) < 5 {
				break
			}
		}
		if want := []string{"u11", "u10", "u09", "u08", "u07", "u06", "u04", "u03", "u02", "u01", "u00"}; !slices.Equal(seen, want) {
			t.Errorf("the users are %v", seen)
		}
		found := try(db.Users(t.Context(), store.UserFilter{Email: "u3@example.com"}, "", 5))(t)
		if len(found) != 1 || found[0].ID != "u03" {
			t.Errorf("found %+v", found)
		}
	})
}

// A user neither sees nor changes what is of another one, and is not limited by it.
func TestStore_keepsUsersApart(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		addBystander(lostCall{t, db, db, bystander})
		db.Exec(t, `UPDATE replays SET turn_at = 1`)
		others := db.Texts(t, rowsQuery(t, db), bystander)
		check(t, db.CreateWorkspace(t.Context(), studio.Workspace{ID: "films", CreatedAt: noon()}))
		check(t, db.AddMember(t.Context(), "films", "ada"))
		key := studio.IdempotencyKey{Key: "replay", Fingerprint: []byte("f"), After: noon().Add(-time.Hour)}
		ctx, url, unknown := t.Context(), subject("", 0).WebhookURL, []byte("unknown")
		for want, all := range map[string][]string{
			"[] <nil>": {
				fmt.Sprint(db.WebhookSecrets(ctx, "ada", noon())), fmt.Sprint(db.APIKeys(ctx, "ada")), fmt.Sprint(db.EndpointURLs(ctx, "ada", "", 9)),
				fmt.Sprint(db.UnusedRefreshTokens(ctx, "ada", noon())), fmt.Sprint(db.NewEvents(ctx, "ada", time.UnixMicro(1), 9)),
			},
			"[] false <nil>": {
				fmt.Sprint(db.Endpoints(ctx, "ada", studio.Position{}, 9)),
				fmt.Sprint(db.Subjects(ctx, studio.SubjectFilter{UserID: "ada", Kind: studio.Avatar}, studio.Position{}, 9)),
				fmt.Sprint(db.Events(ctx, studio.EventFilter{UserID: "ada"}, studio.NewestFirst, studio.Position{}, 9)),
			},
			"0 <nil>": {
				fmt.Sprint(db.UploadedBytes(ctx, "ada", noon())), fmt.Sprint(db.CreationsInProgress(ctx, "ada")), fmt.Sprint(db.VideoSeconds(ctx, "ada")),
				fmt.Sprint(db.CountReplay(ctx, exhausted(studio.EventFilter{UserID: "ada"}), noon())),
				fmt.Sprint(db.AddReplay(ctx, "r", exhausted(studio.EventFilter{UserID: "ada"}), key, noon(), 1)),
				fmt.Sprint(db.AddReplay(ctx, "again", exhausted(studio.EventFilter{UserID: "ada"}), key, noon(), 1)),
			},
			"false <nil>": {fmt.Sprint(db.KnowsAddress(ctx, "ada", "192.0.2.1", noon().Add(-time.Hour))), fmt.Sprint(db.IsImported(ctx, "ada", "", bystander))},
			"[] false " + fmt.Sprint(studio.ErrForbidden): {fmt.Sprint(db.Projects(ctx, bystander, "ada", studio.Position{}, 9))},
			"1 <nil>": {func() string { of, err := db.Workspaces(ctx, "ada", 9); return fmt.Sprint(len(of), " ", err) }()},
			fmt.Sprint(studio.ErrForbidden): {
				fmt.Sprint(db.AddAPIKey(ctx, studio.APIKey{ID: "a", UserID: "ada", WorkspaceID: bystander, Hash: unknown}, 9)),
			},
			fmt.Sprint(studio.ErrNotFound): {
				fmt.Sprint(errorOf(db.Endpoint(ctx, "ada", url))), fmt.Sprint(errorOf(db.Link(ctx, unknown))), fmt.Sprint(errorOf(db.APIKey(ctx, unknown))),
				fmt.Sprint(errorOf(db.CreatedSubject(ctx, "ada", studio.IdempotencyKey{Key: "key", Fingerprint: []byte("f")}))),
				fmt.Sprint(errorOf(db.DeleteSubject(ctx, "ada", "", studio.Avatar, bystander, noon(), noon()))),
				fmt.Sprint(db.DeleteAPIKey(ctx, "ada", bystander)), fmt.Sprint(db.DeleteFamilyOf(ctx, "ada", "family "+bystander, noon())),
				fmt.Sprint(db.RemoveMember(ctx, bystander, "ada")),
			},
			"<nil>": {
				fmt.Sprint(db.DeleteFamily(ctx, unknown, noon())), fmt.Sprint(db.EnableEndpoint(ctx, "ada", url)),
				fmt.Sprint(db.AddAPIKey(ctx, studio.APIKey{ID: "a", UserID: "ada", Hash: unknown, CreatedAt: noon()}, 1)),
				fmt.Sprint(db.AddUpload(ctx, studio.Upload{ID: "u", UserID: "ada", Size: 9, CreatedAt: noon(), ExpiresAt: noon()}, 9)),
				fmt.Sprint(db.AddWebhookSecret(ctx, "ada", "secret", noon(), noon(), 1)),
				fmt.Sprint(db.AddMember(ctx, bystander, "ada")), fmt.Sprint(db.RemoveMember(ctx, bystander, "ada")), fmt.Sprint(db.RemoveMember(ctx, "films", "ada")),
			},
		} {
			for i, got := range all {
				if got != want {
					t.Errorf("%d. %s, want %s", i, got, want)
				}
			}
		}
		// The address that was seen longest ago makes room for a new one.
		db.Exec(t, numbers+fmt.Sprintf(`INSERT INTO known_addresses (user_id, address, seen_at) SELECT 'ada', 'a' || n, n + %d FROM numbers WHERE n <= 500`, noon().UnixMicro()))
		check(t, db.SeeAddress(ctx, "ada", "new", noon().Add(time.Hour)))
		if seen := db.Texts(t, `SELECT address FROM known_addresses WHERE user_id = 'ada' AND address IN ('a1', 'a2', 'new') ORDER BY address`); !slices.Equal(seen, []string{"a2", "new"}) {
			t.Errorf("of the addresses a1, a2 and new are known %v", seen)
		}
		check(t, db.RevokeTokens(ctx, "ada", noon()))
		if try(db.KnowsAddress(ctx, "ada", "new", noon()))(t) {
			t.Error("an address is known after the end of all sessions")
		}
		if changes := cmp.Diff(others, db.Texts(t, rowsQuery(t, db), bystander)); changes != "" {
			t.Errorf("rows of another user (-want +got):\n%s", changes)
		}
	})
}

// A refresh token is a session until it is used or expires. A disabled user begins none.
func TestStore_UserByRefreshToken_isOfAnOpenSession(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		last := token(1, "last")
		last.ExpiresAt = noon().Add(2 * time.Hour)
		check(t, db.AddRefreshToken(t.Context(), token(1, "first"), "", noon()))
		try(db.RotateRefreshToken(t.Context(), token(1, "first").Hash, noon(), last))(t)
		check(t, db.AddRefreshToken(t.Context(), token(2, "other"), "", noon()))
		for i, want := range []string{"12", "1", ""} { // the sessions after so many hours, the last one to expire first
			open := ""
			for _, session := range try(db.UnusedRefreshTokens(t.Context(), "ada", noon().Add(time.Duration(i)*time.Hour)))(t) {
				open += strings.TrimPrefix(session.Family, "family ")
			}
			valid := ""
			for _, hash := range [][]byte{token(1, "first").Hash, last.Hash, token(2, "other").Hash} {
				if _, family, err := db.UserByRefreshToken(t.Context(), hash, noon().Add(time.Duration(i)*time.Hour)); err == nil {
					valid += strings.TrimPrefix(family, "family ")
				}
			}
			if open != want || valid != want {
				t.Errorf("after %d hours, %s are listed and %s valid, want %s", i, open, valid, want)
			}
		}
		check(t, db.SetDisabled(t.Context(), "ada", noon(), noon()))
		wantError(t, db.AddRefreshToken(t.Context(), last, "", noon()), studio.ErrUnauthorized)
	})
}

// Two operators who remove each other at the same time leave one, and an act.
func TestOperators_areNeverAllRemoved(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		operators := []string{"0", ""}
		check(t, db.CreateUser(t.Context(), studio.User{ID: "0", Email: "0", CreatedAt: noon(), Role: studio.Operator}))
		for i := range 10 {
			operators[1] = fmt.Sprint(i + 1)
			check(t, db.CreateUser(t.Context(), studio.User{ID: operators[1], Email: operators[1], CreatedAt: noon(), Role: studio.Operator}))
			demoted := make(chan error)
			to := func(id string) context.Context {
				return db.WithAct(t.Context(), studio.Act{ID: id, At: noon(), Target: id})
			}
			go func() { demoted <- db.SetRole(to(operators[0]), operators[0], studio.NoRole) }()
			disabled := db.SetDisabled(to(operators[1]), operators[1], noon(), noon())
			if first := <-demoted; errors.Is(first, studio.ErrLastOperator) == errors.Is(disabled, studio.ErrLastOperator) {
				t.Fatalf("round %d: %v, %v", i, first, disabled)
			}
			removed, left := operators[0], operators[1]
			if disabled == nil {
				removed, left = left, removed
			}
			acts := try(db.Acts(t.Context(), "", 2*i+2))(t)
			if len(acts) != i+1 || !slices.ContainsFunc(acts, func(act studio.Act) bool { return act.Target == removed }) {
				t.Fatalf("round %d: %s was removed, and the acts are %+v", i, removed, acts)
			}
			operators[0] = left
		}
	})
}
