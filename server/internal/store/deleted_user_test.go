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
	write func(t *testing.T, db *store.Store) error
}{
	{"CreateSubject", studio.ErrNotFound, func(t *testing.T, db *store.Store) error { return createError(t, db, subject("new", 1)) }},
	{"CreateSubject with a key", studio.ErrNotFound, func(t *testing.T, db *store.Store) error {
		return errorOf(db.CreateSubject(t.Context(), subject("keyed", 1), studio.IdempotencyKey{Key: "key", Fingerprint: []byte("f"), After: noon().Add(-time.Hour)}))
	}},
	{"CreateSubject in a workspace", studio.ErrForbidden, func(t *testing.T, db *store.Store) error { // the user is not a member any more
		s := subject("film", 1)
		s.WorkspaceID = "films"
		return createError(t, db, s)
	}},
	{"UpdateSubject", studio.ErrNotFound, func(t *testing.T, db *store.Store) error {
		return errorOf(db.UpdateSubject(t.Context(), "a", func(s *studio.Subject) error { event(s); return nil }))
	}},
	{"SetPassword", studio.ErrNotFound, func(t *testing.T, db *store.Store) error {
		return db.SetPassword(t.Context(), "ada", "", "new", studio.RefreshToken{Hash: []byte("t"), Family: "t", UserID: "ada", ExpiresAt: noon().Add(time.Hour)}, noon())
	}},
	{"AddRefreshToken", studio.ErrUnauthorized, func(t *testing.T, db *store.Store) error {
		return db.AddRefreshToken(t.Context(), studio.RefreshToken{Hash: []byte("u"), Family: "u", UserID: "ada", ExpiresAt: noon().Add(time.Hour)}, "", noon())
	}},
	{"RotateRefreshToken", studio.ErrUnauthorized, func(t *testing.T, db *store.Store) error {
		return errorOf(db.RotateRefreshToken(t.Context(), []byte("session"), noon(), studio.RefreshToken{Hash: []byte("v"), ExpiresAt: noon().Add(time.Hour)}))
	}},
	{"SeeAddress", studio.ErrNotFound, func(t *testing.T, db *store.Store) error {
		return db.SeeAddress(t.Context(), "ada", "192.0.2.1", noon())
	}},
	{"AddMember", studio.ErrNotFound, func(t *testing.T, db *store.Store) error { return db.AddMember(t.Context(), "films", "ada") }},
	{"AddAPIKey", studio.ErrNotFound, func(t *testing.T, db *store.Store) error {
		return db.AddAPIKey(t.Context(), studio.APIKey{ID: "k", UserID: "ada", Hash: []byte("k"), CreatedAt: noon()}, 9)
	}},
	{"AddUpload", studio.ErrNotFound, func(t *testing.T, db *store.Store) error {
		return db.AddUpload(t.Context(), studio.Upload{ID: "u", UserID: "ada", CreatedAt: noon(), ExpiresAt: noon().Add(time.Hour), Size: 1}, 9)
	}},
	{"AddWebhookSecret", studio.ErrNotFound, func(t *testing.T, db *store.Store) error {
		return db.AddWebhookSecret(t.Context(), "ada", "secret", noon(), noon(), 9)
	}},
	{"PauseEndpoint", studio.ErrNotFound, func(t *testing.T, db *store.Store) error {
		return db.PauseEndpoint(t.Context(), "ada", "https://hooks.example.com/", noon())
	}},
	{"AddReplay", studio.ErrNotFound, func(t *testing.T, db *store.Store) error {
		key := studio.IdempotencyKey{Key: "replay", Fingerprint: []byte("f"), After: noon().Add(-time.Hour)}
		return errorOf(db.AddReplay(t.Context(), "r", exhausted(studio.EventFilter{UserID: "ada"}), key, noon(), 9))
	}},
	{"RemoveUser", studio.ErrNotFound, func(t *testing.T, db *store.Store) error { return db.RemoveUser(t.Context(), "ada", noon()) }},
	{"SetRole", studio.ErrNotFound, func(t *testing.T, db *store.Store) error { return db.SetRole(t.Context(), "ada", studio.Operator) }},
	{"SetDisabled", studio.ErrNotFound, func(t *testing.T, db *store.Store) error {
		return db.SetDisabled(t.Context(), "ada", time.Time{}, noon())
	}},
	{"AddLink by the user", studio.ErrNotFound, func(t *testing.T, db *store.Store) error {
		ctx := db.WithAct(t.Context(), studio.Act{ID: "invited", At: noon(), OperatorID: "ada"})
		return db.AddLink(ctx, studio.Link{Hash: []byte("invite"), Purpose: studio.InviteLink, Email: "guest", By: "ada", ExpiresAt: noon()})
	}},
	{"AddLink to the user", studio.ErrNotFound, func(t *testing.T, db *store.Store) error {
		return db.AddLink(t.Context(), studio.Link{Hash: []byte("reset"), Purpose: studio.ResetLink, Email: "ada@example.com", ExpiresAt: noon()})
	}},
	{"ClaimAlert", studio.ErrNotFound, func(t *testing.T, db *store.Store) error {
		db.Exec(t, fmt.Sprintf(`UPDATE endpoints SET failing_since = 1, last_at = %d`, noon().UnixMicro()))
		return errorOf(db.ClaimAlert(t.Context(), noon()))
	}},
	// The attempt was in flight.
	{"Record", nil, func(t *testing.T, db *store.Store) error {
		return recordAttempt(t.Context(), db, subject("b", 1).Events[0], studio.Attempt{At: noon(), Status: 410},
			store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonGone, DisableURL: true})
	}},
}

// A request may have been admitted before the deletion of its user. Nothing would erase what it adds after that.
func TestStore_addsNothingOfADeletedUser(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		check(t, db.CreateWorkspace(t.Context(), studio.Workspace{ID: "films", CreatedAt: noon()}))
		check(t, db.AddMember(t.Context(), "films", "ada"))
		check(t, db.AddRefreshToken(t.Context(), studio.RefreshToken{Hash: []byte("session"), Family: "s", UserID: "ada", ExpiresAt: noon().Add(time.Hour)}, "", noon()))
		check(t, db.CreateUser(t.Context(), user("bob"))) // whom no condition may take for ada
		check(t, db.AddLink(t.Context(), studio.Link{Hash: []byte("link"), Purpose: studio.ResetLink, Email: "ada@example.com", ExpiresAt: noon()}))
		create(t, db, subject("a", 1))
		create(t, db, subject("b", 1))
		check(t, deleteSubject(t, db, studio.Avatar, "b", noon())) // keeps the URL of its webhook
		check(t, deleteUser(t, db, "ada", noon()))
		for _, w := range deletedUserWrites {
			if err := w.write(t, db); !errors.Is(err, w.want) {
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
