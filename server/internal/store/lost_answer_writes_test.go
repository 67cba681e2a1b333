package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// onlyPostgres and onlySQLite are values of lostWrite.only.
const onlyPostgres, onlySQLite = "PostgreSQL", "SQLite"

// writes are all writes of the store; see wantAllSeen.
var writes = []lostWrite{
	{name: "CreateUser", again: studio.ErrExists, prepare: func(t *testing.T, db *store.Store, run string) func() error {
		return func() error { return db.CreateUser(t.Context(), studio.User{ID: run, Email: run, CreatedAt: noon()}) }
	}},
	{name: "SetRole", prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		return db.SetRole(t.Context(), run, studio.NoRole)
	})},
	{name: "SetPassword", prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		return db.SetPassword(t.Context(), run, "new", studio.RefreshToken{}, noon())
	})},
	{name: "SetDisabled", prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		return db.SetDisabled(t.Context(), run, noon(), noon())
	})},
	{name: "RemoveUser", again: studio.ErrNotFound, prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		return db.RemoveUser(t.Context(), run, noon())
	})},
	{name: "NextBatch", prepare: after(func(t *testing.T, db *store.Store, run string) error {
		_, err := db.CreateSubject(t.Context(), avatarOf(run, run+"a"), studio.IdempotencyKey{})
		check(t, err)
		return db.RemoveUser(t.Context(), run, noon())
	}, func(t *testing.T, db *store.Store, run string) error {
		for { // the first batch has the avatar
			if erased, err := db.NextBatch(t.Context(), run, noon()); err != nil || !erased.More {
				return err
			}
		}
	})},
	{name: "AddRefreshToken", again: studio.ErrExists, prepare: ready(addToken)},
	// SQLite takes a token that is used twice for a stolen one.
	{name: "RotateRefreshToken", again: studio.ErrUnauthorized, counts: true, prepare: after(addToken, func(t *testing.T, db *store.Store, run string) error {
		_, err := db.RotateRefreshToken(t.Context(), []byte("token "+run), noon(), studio.RefreshToken{Hash: []byte("next " + run), ExpiresAt: noon().Add(time.Hour)})
		return err
	})},
	{name: "RotateRefreshToken, stolen", again: studio.ErrUnauthorized, prepare: after(func(t *testing.T, db *store.Store, run string) error {
		check(t, addToken(t, db, run))
		_, err := db.RotateRefreshToken(t.Context(), []byte("token "+run), noon(), studio.RefreshToken{Hash: []byte("next " + run), ExpiresAt: noon().Add(time.Hour)})
		return err
	}, func(t *testing.T, db *store.Store, run string) error {
		_, err := db.RotateRefreshToken(t.Context(), []byte("token "+run), noon(), studio.RefreshToken{Hash: []byte("third " + run), ExpiresAt: noon().Add(time.Hour)})
		if errors.Is(err, studio.ErrUnauthorized) {
			return nil
		}
		return err
	})},
	{name: "DeleteFamily", prepare: after(addToken, func(t *testing.T, db *store.Store, run string) error {
		return db.DeleteFamily(t.Context(), []byte("token "+run), noon())
	})},
	{name: "DeleteFamilyOf", again: studio.ErrNotFound, prepare: after(addToken, func(t *testing.T, db *store.Store, run string) error {
		return db.DeleteFamilyOf(t.Context(), run, "family "+run, noon())
	})},
	{name: "SeeAddress", prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		return db.SeeAddress(t.Context(), run, "192.0.2.1", noon())
	})},
	{name: "CountLogin", counts: true, prepare: ready(countLogin)},
	{name: "ReleaseLoginAttempt", counts: true, prepare: after(countLogin, func(t *testing.T, db *store.Store, run string) error {
		return db.ReleaseLoginAttempt(t.Context(), []studio.Throttle{{Key: run, Free: 9}, {Key: run + "forgets", Forgets: true}}, true)
	})},
	{name: "CountWebhookTest", counts: true, prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		return db.CountWebhookTest(t.Context(), run, noon(), time.Minute, 9)
	})},

	{name: "CreateWorkspace", again: studio.ErrExists, prepare: func(t *testing.T, db *store.Store, run string) func() error {
		return func() error {
			return db.CreateWorkspace(t.Context(), studio.Workspace{ID: run, Name: "Films", CreatedAt: noon()})
		}
	}},
	{name: "RemoveMember", again: studio.ErrNotFound, prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		return db.RemoveMember(t.Context(), run, run)
	})},
	{name: "ImportProjects", again: studio.ErrExists, prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		_, err := db.ImportProjects(t.Context(), []studio.Project{{ID: run, WorkspaceID: run, UserID: run, CreatedAt: noon(), Document: "{}"}})
		return err
	})},
	{name: "AddAPIKey", again: studio.ErrExists, prepare: ready(addAPIKey)},
	{name: "UseAPIKey", prepare: after(addAPIKey, func(t *testing.T, db *store.Store, run string) error {
		return db.UseAPIKey(t.Context(), run, noon())
	})},
	{name: "DeleteAPIKey", again: studio.ErrNotFound, prepare: after(addAPIKey, func(t *testing.T, db *store.Store, run string) error {
		return db.DeleteAPIKey(t.Context(), run, run)
	})},
	{name: "AddUpload", again: studio.ErrExists, prepare: ready(addUpload)},
	{name: "AddLink", again: studio.ErrExists, prepare: ready(addLink)},
	{name: "ClaimLink", again: studio.ErrNotFound, prepare: after(addLink, func(t *testing.T, db *store.Store, run string) error {
		return db.ClaimLink(t.Context(), []byte("link "+run), noon(), noon().Add(time.Minute))
	})},
	{name: "AddPlace", prepare: ready(func(t *testing.T, db *store.Store, run string) error { return db.AddPlace(t.Context(), run) })},
	{name: "CheckWritable", prepare: ready(func(t *testing.T, db *store.Store, _ string) error { return db.CheckWritable(t.Context()) })},
	{name: "Join", again: studio.ErrNotFound, prepare: after(addLink, func(t *testing.T, db *store.Store, run string) error {
		guest := studio.User{ID: run + "guest", Email: run + "guest", CreatedAt: noon()}
		return db.Join(t.Context(), []byte("link "+run), guest, studio.Workspace{ID: run + "new", CreatedAt: noon()}, studio.RefreshToken{})
	})},
	{name: "ResetPassword", again: studio.ErrNotFound, prepare: after(addLink, func(t *testing.T, db *store.Store, run string) error {
		return db.ResetPassword(t.Context(), []byte("link "+run), run, "new", studio.RefreshToken{}, noon())
	})},
	{name: "WithAct", again: studio.ErrExists, prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		return db.AddAct(t.Context(), studio.Act{ID: run, At: noon()})
	})},

	{name: "CreateSubject", again: studio.ErrExists, prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		_, err := db.CreateSubject(t.Context(), avatarOf(run, run+"a"), studio.IdempotencyKey{})
		return err
	})},
	{name: "CreateSubject with a key", prepare: ready(func(t *testing.T, db *store.Store, run string) error { return createKeyed(t, db, run, "a") })},
	{name: "CreateSubject with an expired key", prepare: after(func(t *testing.T, db *store.Store, run string) error {
		check(t, createKeyed(t, db, run, "a"))
		db.Exec(t, `UPDATE subjects SET created_at = 1 WHERE id = '`+run+`a'`)
		return nil
	}, func(t *testing.T, db *store.Store, run string) error { return createKeyed(t, db, run, "b") })},
	{name: "UpdateSubject", prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		_, err := db.UpdateSubject(t.Context(), run, func(s *studio.Subject) error {
			if s.Status == studio.Processing {
				s.Status, s.RenderAt = studio.Failed, time.Time{}
				event(s)
			}
			return nil
		})
		return err
	})},
	{name: "UpdateSubject to render later", prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		_, err := db.UpdateSubject(t.Context(), run, func(s *studio.Subject) error {
			s.RenderAt = noon().Add(time.Minute)
			return nil
		})
		return err
	})},
	{name: "SetProgress", prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		return db.SetProgress(t.Context(), run, 50, "renders", noon())
	})},
	{name: "DeleteSubject", prepare: after(func(t *testing.T, db *store.Store, run string) error {
		upload, s := uuid.NewString(), avatarOf(run, run+"a")
		s.Request = []byte(`{"base_video_url":"/uploads/` + upload + `/file"}`)
		create(t, db, s)
		return db.AddUpload(t.Context(), studio.Upload{ID: upload, UserID: run, CreatedAt: noon(), ExpiresAt: noon()}, 9)
	}, func(t *testing.T, db *store.Store, run string) error {
		_, err := db.DeleteSubject(t.Context(), run, "", studio.Avatar, run+"a", noon(), noon().Add(-time.Hour))
		return err
	})},

	{name: "ClaimRenderings", prepare: ready(claimRendering)},
	{name: "ClaimRenderings of many", prepare: after(func(t *testing.T, db *store.Store, run string) error {
		create(t, db, avatarOf(run, run+"a"))
		db.Exec(t, `UPDATE renderings SET due_at = 1 WHERE subject_id = '`+run+`a'`)
		return nil
	}, claimRendering)},
	{name: "RenewRenderings", prepare: after(claimRendering, func(t *testing.T, db *store.Store, run string) error {
		return db.RenewRenderings(t.Context(), run, []string{run})
	})},
	{name: "ReleaseRendering", prepare: after(claimRendering, func(t *testing.T, db *store.Store, run string) error {
		return db.ReleaseRendering(t.Context(), run, run)
	})},

	{name: "SaveAttempt", prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		return recordFirst(t, db, run, store.Outcome{State: studio.EventPending, RetryAt: noon().Add(time.Hour)})
	})},
	{name: "SaveAttempt of the next attempt", prepare: after(func(t *testing.T, db *store.Store, run string) error {
		return recordFirst(t, db, run, store.Outcome{State: studio.EventPending, RetryAt: noon()})
	}, func(t *testing.T, db *store.Store, run string) error {
		_, err := db.SaveAttempt(t.Context(), "", store.MadeAttempt{
			Event:   studio.Event{ID: run + "-1", SubjectID: run, Sequence: 1},
			Attempt: studio.Attempt{Number: 2, At: noon().Add(time.Second), Status: 410},
			Outcome: store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonGone, DisableURL: true},
		})
		return err
	})},
	{name: "ExhaustEvents", prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		return db.ExhaustEvents(t.Context(), run, noon(), studio.ReasonDisabled)
	})},
	{name: "SaveResults", prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		return db.SaveResults(t.Context(), []store.EndpointResult{{UserID: run, URL: "https://hooks.example.com/", FailingSince: noon()}})
	})},
	{name: "EnableEndpoint", prepare: after(pause, func(t *testing.T, db *store.Store, run string) error {
		return db.EnableEndpoint(t.Context(), run, "https://hooks.example.com/")
	})},
	{name: "Pause", prepare: ready(pause)},
	{name: "Resume", again: studio.ErrNotFound, prepare: after(pause, func(t *testing.T, db *store.Store, run string) error {
		return db.Resume(t.Context(), store.PauseScope{UserID: run, URL: "https://hooks.example.com/", ByUser: true})
	})},
	{name: "SaveBreaker", prepare: ready(saveBreaker)},
	{name: "ForgetBreaker", prepare: after(saveBreaker, func(t *testing.T, db *store.Store, run string) error {
		return db.ForgetBreaker(t.Context(), "https://"+run)
	})},
	{name: "ClaimAlert", counts: true, prepare: ready(claimAlert)},
	{name: "ReleaseAlert", prepare: after(claimAlert, func(t *testing.T, db *store.Store, run string) error {
		return db.ReleaseAlert(t.Context(), run, "https://hooks.example.com/", noon())
	})},
	{name: "AddReplay", prepare: after(exhaust, addReplay)},
	{name: "AddReplay with an expired key", prepare: after(func(t *testing.T, db *store.Store, run string) error {
		check(t, exhaust(t, db, run))
		check(t, addReplay(t, db, run))
		db.Exec(t, `UPDATE replays SET requested_at = 1, id = id || 'old' WHERE user_id = '`+run+`'`)
		return nil
	}, addReplay)},
	{name: "ReplayNext", prepare: after(func(t *testing.T, db *store.Store, run string) error {
		check(t, exhaust(t, db, run))
		return addReplay(t, db, run)
	}, func(t *testing.T, db *store.Store, _ string) error {
		for { // the server may see late that the connection, which has locked the replay, is broken
			next, err := db.ReplayNext(t.Context(), noon())
			if err != nil || !next.After(noon()) {
				return err
			}
		}
	})},
	{name: "ReplayNext with a backlog", prepare: after(func(t *testing.T, db *store.Store, run string) error {
		db.Exec(t, numbers+`INSERT INTO deliveries (subject_id, user_id, origin, url, sequence, due_at) SELECT 'backlog' || n, '`+run+`', '', '', 1, 1 FROM numbers`)
		check(t, exhaust(t, db, run))
		return addReplay(t, db, run)
	}, replayNext)},

	{name: "AddWebhookSecret", counts: true, prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		return db.AddWebhookSecret(t.Context(), run, "secret", noon(), noon().Add(time.Hour), 9)
	})},
	{name: "Key", prepare: ready(func(t *testing.T, db *store.Store, run string) error {
		_, err := db.Key(t.Context(), run, func() []byte { return []byte("key") })
		return err
	})},
	{name: "SetKey", prepare: ready(setKey)},
	{name: "ReleaseKey", prepare: after(setKey, func(t *testing.T, db *store.Store, run string) error {
		return db.ReleaseKey(t.Context(), run, []byte("key"))
	})},
	{name: "DeleteKey", prepare: after(setKey, func(t *testing.T, db *store.Store, run string) error { return db.DeleteKey(t.Context(), run) })},
	{name: "Seal", prepare: after(func(t *testing.T, db *store.Store, run string) error {
		db.Exec(t, `INSERT INTO signing_keys (name, key) VALUES ('`+run+`', CAST('a' AS `+bytesType(db)+`))`,
			`INSERT INTO webhook_secrets (user_id, secret) VALUES ('`+run+`', 'a')`)
		return nil
	}, func(t *testing.T, db *store.Store, _ string) error {
		_, err := db.Seal(t.Context(), false)
		return err
	})},
	{name: "Unreadable", prepare: after(func(t *testing.T, db *store.Store, run string) error {
		other := keyring.New().Seal("a", "b")
		db.Exec(t, `INSERT INTO signing_keys (name, key) VALUES ('`+run+`', CAST('`+other+`' AS `+bytesType(db)+`))`,
			`INSERT INTO webhook_secrets (user_id, secret) VALUES ('`+run+`', '`+other+`')`)
		return nil
	}, func(t *testing.T, db *store.Store, _ string) error {
		_, err := db.Unreadable(t.Context(), true)
		return err
	})},
	{name: "SeeDaemon", prepare: ready(seeDaemon)},
	{name: "RemoveDaemon", prepare: after(seeDaemon, func(t *testing.T, db *store.Store, run string) error { return db.RemoveDaemon(t.Context(), run) })},
	{name: "Prune", prepare: ready(func(t *testing.T, db *store.Store, _ string) error { return db.Prune(t.Context(), noon()) })},
	{name: "ShiftDue", only: onlySQLite, counts: true, prepare: ready(func(t *testing.T, db *store.Store, _ string) error {
		return db.ShiftDue(t.Context(), time.Second)
	})},

	{name: "LeaseHolder.Renew, the first", only: onlyPostgres, prepare: func(t *testing.T, db *store.Store, _ string) func() error {
		db.Exec(t, `DELETE FROM holders`)
		holder := newHolder(t, db)
		return func() error {
			holding, err := holder.Renew(t.Context())
			if err == nil && len(holding.Lanes) != store.Lanes {
				t.Errorf("the holder has %d lanes", len(holding.Lanes))
			}
			return err
		}
	}},
	{name: "LeaseHolder.Renew", only: onlyPostgres, prepare: func(t *testing.T, db *store.Store, _ string) func() error {
		holder := newHolder(t, db)
		renew := func() error {
			_, err := holder.Renew(t.Context())
			return err
		}
		check(t, renew())
		return renew
	}},
	{name: "LeaseHolder.Release", only: onlyPostgres, prepare: func(t *testing.T, db *store.Store, _ string) func() error {
		holder := newHolder(t, db)
		_, err := holder.Renew(t.Context())
		check(t, err)
		return func() error { return holder.Release(t.Context(), []int{1}) }
	}},
	{name: "LeaseHolder.ReleaseAll", only: onlyPostgres, prepare: func(t *testing.T, db *store.Store, _ string) func() error {
		holder := newHolder(t, db)
		_, err := holder.Renew(t.Context())
		check(t, err)
		return func() error { return holder.ReleaseAll(t.Context()) }
	}},
	{name: "HandleClockSetBack", only: onlyPostgres, prepare: func(t *testing.T, db *store.Store, run string) func() error {
		call := ready(func(t *testing.T, db *store.Store, _ string) error {
			_, err := db.HandleClockSetBack(t.Context())
			return err
		})(t, db, run)
		check(t, addReplay(t, db, run))
		holder := newHolder(t, db)
		_, err := holder.Renew(t.Context())
		check(t, err)
		db.Exec(t, `UPDATE holders SET seen_at = clock_timestamp() + INTERVAL '1 hour'`)
		return call
	}},
}

func newHolder(t *testing.T, db *store.Store) *store.LeaseHolder {
	t.Helper()
	holder := db.NewLeaseHolder()
	t.Cleanup(func() { _ = holder.ReleaseAll(t.Context()) })
	return holder
}

func addToken(t *testing.T, db *store.Store, run string) error {
	t.Helper()
	return db.AddRefreshToken(t.Context(), studio.RefreshToken{
		Hash: []byte("token " + run), Family: "family " + run, UserID: run, ExpiresAt: noon().Add(time.Hour),
	}, "", noon())
}

func countLogin(t *testing.T, db *store.Store, run string) error {
	t.Helper()
	_, err := db.CountLogin(t.Context(), []studio.Throttle{{Key: run, Free: 9}, {Key: run + "forgets", Free: 9}}, noon())
	return err
}

func addAPIKey(t *testing.T, db *store.Store, run string) error {
	t.Helper()
	return db.AddAPIKey(t.Context(), studio.APIKey{ID: run, UserID: run, Hash: []byte("key " + run), CreatedAt: noon()}, 9)
}

func addUpload(t *testing.T, db *store.Store, run string) error {
	t.Helper()
	return db.AddUpload(t.Context(), studio.Upload{ID: run, UserID: run, CreatedAt: noon(), ExpiresAt: noon().Add(time.Hour)}, 9)
}

func addLink(t *testing.T, db *store.Store, run string) error {
	t.Helper()
	return db.AddLink(t.Context(), studio.Link{Hash: []byte("link " + run), Purpose: studio.InviteLink, Email: run, ExpiresAt: noon().Add(time.Hour)})
}

func createKeyed(t *testing.T, db *store.Store, run, id string) error {
	t.Helper()
	s := avatarOf(run, run+id)
	s.WorkspaceID = run
	_, err := db.CreateSubject(t.Context(), s, studio.IdempotencyKey{Key: "key", Fingerprint: []byte("f"), After: noon().Add(-time.Hour)})
	return err
}

// claimRendering claims as a process does that may have claimed before without an answer.
func claimRendering(t *testing.T, db *store.Store, run string) error {
	t.Helper()
	if err := db.ReleaseRenderings(t.Context(), run, nil); err != nil {
		return err
	}
	subjects, _, err := db.ClaimRenderings(t.Context(), run, noon(), 1)
	if err == nil && len(subjects) != 1 {
		t.Errorf("%s: %d renderings are claimed", run, len(subjects))
	}
	return err
}

func recordFirst(t *testing.T, db *store.Store, run string, outcome store.Outcome) error {
	t.Helper()
	_, err := db.SaveAttempt(t.Context(), "", store.MadeAttempt{
		Event: studio.Event{ID: run + "-1", SubjectID: run, Sequence: 1}, Outcome: outcome,
		Attempt: studio.Attempt{Number: 1, At: noon(), Duration: time.Second, Status: 500},
	})
	return err
}

func pause(t *testing.T, db *store.Store, run string) error {
	t.Helper()
	return db.PauseEndpoint(t.Context(), run, "https://hooks.example.com/", noon())
}

func saveBreaker(t *testing.T, db *store.Store, run string) error {
	t.Helper()
	return db.SaveBreaker(t.Context(), store.Breaker{Origin: "https://" + run, Until: noon(), Pause: time.Minute})
}

func claimAlert(t *testing.T, db *store.Store, run string) error {
	t.Helper()
	email, err := db.ClaimAlert(t.Context(), run, "https://hooks.example.com/", noon(), time.Time{})
	if err == nil && email != run && db.Shared() {
		t.Errorf("the alert of %s is for %q", run, email)
	}
	return err
}

func exhaust(t *testing.T, db *store.Store, run string) error {
	t.Helper()
	return db.ExhaustEvents(t.Context(), run, noon(), studio.ReasonSchedule)
}

func addReplay(t *testing.T, db *store.Store, run string) error {
	t.Helper()
	key := studio.IdempotencyKey{Key: "replay", Fingerprint: []byte("f"), After: noon().Add(-time.Hour)}
	_, err := db.AddReplay(t.Context(), run, exhausted(studio.EventFilter{UserID: run, From: time.UnixMicro(1)}), key, noon(), 9)
	return err
}

func replayNext(t *testing.T, db *store.Store, _ string) error {
	t.Helper()
	_, err := db.ReplayNext(t.Context(), noon())
	return err
}

func setKey(t *testing.T, db *store.Store, run string) error {
	t.Helper()
	return db.SetKey(t.Context(), run, []byte("key"))
}

func seeDaemon(t *testing.T, db *store.Store, run string) error {
	t.Helper()
	return db.SeeDaemon(t.Context(), store.Daemon{ID: run, Started: noon()})
}

// bytesType returns the type of bytes.
func bytesType(db *store.Store) string {
	if db.Shared() {
		return "BYTEA"
	}
	return "BLOB"
}
