package store_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// deletedUserWrites are the writes that add something to the user ada, each with its error after the deletion of the
// user.
var deletedUserWrites = []struct {
	name  string
	want  error
	write func(c lostCall) error
}{
	{"CreateSubject", studio.ErrNotFound, func(c lostCall) error { return createError(c.T, c, subject("new", 1)) }},
	{"CreateSubject with a key", studio.ErrNotFound, func(c lostCall) error {
		return errorOf(c.CreateSubject(c.Context(), subject("keyed", 1), studio.IdempotencyKey{Key: "key", Fingerprint: []byte("f"), After: noon().Add(-time.Hour)}))
	}},
	{"CreateSubject in a workspace", studio.ErrForbidden, func(c lostCall) error { return createKeyed(c, "film") }}, // of which the user is no member any more
	{"UpdateSubject", studio.ErrNotFound, func(c lostCall) error {
		return errorOf(c.UpdateSubject(c.Context(), "a", func(s *studio.Subject) error { event(s); return nil }))
	}},
	{"SetPassword", studio.ErrNotFound, func(c lostCall) error {
		return c.SetPassword(c.Context(), "ada", "", "new", token(1, "t"), noon())
	}},
	{"AddRefreshToken", studio.ErrUnauthorized, addToken},
	{"RotateRefreshToken", studio.ErrUnauthorized, func(c lostCall) error {
		return errorOf(c.RotateRefreshToken(c.Context(), []byte("session"), noon(), token(1, "v")))
	}},
	{"SeeAddress", studio.ErrNotFound, func(c lostCall) error { return c.SeeAddress(c.Context(), "ada", "192.0.2.1", noon()) }},
	{"AddMember", studio.ErrNotFound, func(c lostCall) error { return c.AddMember(c.Context(), "ada", "ada") }},
	{"AddAPIKey", studio.ErrNotFound, addAPIKey},
	{"AddUpload", studio.ErrNotFound, addUpload},
	{"AddWebhookSecret", studio.ErrNotFound, func(c lostCall) error {
		return c.AddWebhookSecret(c.Context(), "ada", "secret", noon(), noon(), 9)
	}},
	{"PauseEndpoint", studio.ErrNotFound, pause},
	{"AddReplay", studio.ErrNotFound, addReplay},
	{"RemoveUser", studio.ErrNotFound, func(c lostCall) error { return c.RemoveUser(c.Context(), "ada", noon()) }},
	{"SetRole", studio.ErrNotFound, func(c lostCall) error { return c.SetRole(c.Context(), "ada", studio.Operator) }},
	{"SetDisabled", studio.ErrNotFound, func(c lostCall) error { return c.SetDisabled(c.Context(), "ada", time.Time{}, noon()) }},
	{"AddLink by the user", studio.ErrNotFound, func(c lostCall) error {
		ctx := c.WithAct(c.Context(), studio.Act{ID: "invited", At: noon(), OperatorID: "ada"})
		return c.AddLink(ctx, studio.Link{Hash: []byte("invite"), Purpose: studio.InviteLink, Email: "guest", By: "ada", ExpiresAt: noon()})
	}},
	{"AddLink to the user", studio.ErrNotFound, func(c lostCall) error {
		return c.AddLink(c.Context(), studio.Link{Hash: []byte("reset"), Purpose: studio.ResetLink, Email: "ada@example.com", ExpiresAt: noon()})
	}},
	{"ClaimAlert", studio.ErrNotFound, func(c lostCall) error {
		check(c, failForDays(c))
		return errorOf(c.ClaimAlert(c.Context(), noon()))
	}},
	// The attempts were in flight.
	{"Record", nil, func(c lostCall) error {
		return recordAttempt(c.Context(), c.Store, subject("b", 2).Events[0], studio.Attempt{At: noon(), Status: 410},
			store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonGone, DisableURL: true})
	}},
	{"Record before a retry", nil, func(c lostCall) error {
		return recordAttempt(c.Context(), c.Store, subject("b", 2).Events[0], studio.Attempt{At: noon(), Status: 500},
			store.Outcome{State: studio.EventPending, RetryAt: noon().Add(time.Minute)})
	}},
}

// A request may have been admitted before the deletion of its user. Nothing would erase what it adds after that.
func TestStore_addsNothingOfADeletedUser(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		check(t, db.CreateWorkspace(t.Context(), studio.Workspace{ID: "ada", CreatedAt: noon()}))
		check(t, db.AddMember(t.Context(), "ada", "ada"))
		check(t, db.AddRefreshToken(t.Context(), studio.RefreshToken{Hash: []byte("session"), Family: "s", UserID: "ada", ExpiresAt: noon().Add(time.Hour)}, "", noon()))
		check(t, db.CreateUser(t.Context(), user("bob"))) // whom no condition may take for ada
		check(t, db.AddLink(t.Context(), studio.Link{Hash: []byte("link"), Purpose: studio.ResetLink, Email: "ada@example.com", ExpiresAt: noon()}))
		create(t, db, subject("a", 1))
		create(t, db, subject("b", 2))
		check(t, deleteSubject(t, db, studio.Avatar, "b", noon())) // keeps the URL of its webhook
		check(t, deleteUser(t, db, "ada", noon()))
		for _, w := range deletedUserWrites {
			if err := w.write(lostCall{t, db, db, "ada"}); !errors.Is(err, w.want) {
				t.Errorf("%s: %v, want %v", w.name, err, w.want)
			}
			if left := rowsOfAda(t, db); len(left) > 0 {
				t.Errorf("%s leaves %s", w.name, left)
			}
		}
		wantConsistent(t, db)
		db.Exec(t, `UPDATE subjects SET deleted_at = NULL WHERE id = 'a'`)
		broken, err := db.Check(t.Context())
		if check(t, err); !slices.ContainsFunc(broken, func(v store.Violation) bool {
			return v.SubjectID == "a" && v.Rule == "belongs to a deleted user, and no task erases it"
		}) {
			t.Errorf("check finds %v", broken)
		}
	})
}

// rowsOfAda returns what a store has of the user ada, except what it keeps of deleted subjects.
func rowsOfAda(t *testing.T, db *store.Store) (left []string) {
	t.Helper()
	for table, condition := range map[string]string{
		"subjects": `user_id = 'ada' AND deleted_at IS NULL`, "events": `user_id = 'ada' AND state = 'pending'`, "tasks": `1 = 1`, "upload_uses": `1 = 1`,
		"links": `made_by = 'ada' OR email IN ('ada', 'ada@example.com')`,
		"users": `id = 'ada' AND (email <> 'deleted ada' OR password_hash <> '' OR deleted_at IS NULL OR disabled_at IS NULL)`,

		"webhook_secrets": "", "api_keys": "", "endpoints": "", "alerts": "", "pauses": "", "replays": "", "members": "", "known_addresses": "",
		"uploads": "", "renderings": "", "deliveries": "", "refresh_tokens": "",
	} {
		if n := db.Texts(t, `SELECT CAST(COUNT(*) AS TEXT) FROM `+table+` WHERE `+cmp.Or(condition, `user_id = 'ada'`)); n[0] != "0" {
			left = append(left, n[0]+" "+table)
		}
	}
	return left
}

// A creation during the deletion of its user is erased, or refused. Those of other users in its group are made.
func TestStore_RemoveUser_leavesNoConcurrentCreation(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		for round := range rounds {
			leaver := fmt.Sprint("leaver", round)
			check(t, db.CreateUser(t.Context(), user(leaver)))
			of := func(userID string, i int) error {
				s := subject(fmt.Sprintf("%d-%s-%d", round, userID, i), 1)
				s.UserID = userID
				return createError(t, db, s)
			}
			concurrently(slices.Concat(repeat(4, func(i int) {
				if err := of(leaver, i); err != nil {
					wantError(t, err, studio.ErrNotFound)
				}
			}), repeat(4, func(i int) {
				if err := of("ada", i); err != nil {
					t.Error(err)
				}
			}), []func(){func() { check(t, deleteUser(t, db, leaver, noon())) }})...)
			left, _, err := db.Subjects(t.Context(), studio.SubjectFilter{UserID: leaver, Kind: studio.Avatar}, studio.Position{}, 9)
			if check(t, err); len(left) > 0 {
				t.Errorf("%d creations of a deleted user", len(left))
			}
		}
		kept, err := db.CreationsInProgress(t.Context(), "ada")
		if check(t, err); kept != 4*rounds {
			t.Errorf("%d creations of another user, want %d", kept, 4*rounds)
		}
	})
}
