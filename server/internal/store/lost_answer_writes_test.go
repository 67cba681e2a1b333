package store_test

import (
	"errors"
	"fmt"
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
	{name: "CreateUser", again: studio.ErrExists, prepare: func(c lostCall) func() error {
		return func() error {
			return c.CreateUser(c.Context(), studio.User{ID: c.run, Email: c.run, CreatedAt: noon()})
		}
	}},
	{name: "SetRole", prepare: ready(func(c lostCall) error { return c.SetRole(c.Context(), c.run, studio.NoRole) })},
	{name: "SetPassword", prepare: ready(func(c lostCall) error {
		return c.SetPassword(c.Context(), c.run, "", "new", studio.RefreshToken{}, noon())
	})},
	{name: "SetDisabled", prepare: ready(func(c lostCall) error { return c.SetDisabled(c.Context(), c.run, noon(), noon()) })},
	{name: "RemoveUser", again: studio.ErrNotFound, prepare: ready(func(c lostCall) error {
		return c.RemoveUser(c.Context(), c.run, noon())
	})},
	{name: "NextBatch", prepare: after(func(c lostCall) error {
		try(c.CreateSubject(c.Context(), avatarOf(c.run, c.run+"a"), studio.IdempotencyKey{}))(c)
		return c.RemoveUser(c.Context(), c.run, noon())
	}, func(c lostCall) error {
		for { // the first batch has the avatar
			if erased, err := c.NextBatch(c.Context(), c.run, noon()); err != nil || !erased.More {
				return err
			}
		}
	})},
	{name: "AddRefreshToken", again: studio.ErrExists, prepare: ready(addToken)},
	// SQLite takes a token that is used twice for a stolen one.
	{name: "RotateRefreshToken", again: studio.ErrUnauthorized, counts: true, prepare: after(addToken, rotateToken)},
	{name: "RotateRefreshToken, stolen", again: studio.ErrUnauthorized, prepare: after(func(c lostCall) error {
		check(c, addToken(c))
		return rotateToken(c)
	}, func(c lostCall) error {
		if err := rotateToken(c); !errors.Is(err, studio.ErrUnauthorized) {
			return err
		}
		return nil
	})},
	{name: "DeleteFamily", prepare: after(addToken, func(c lostCall) error {
		return c.DeleteFamily(c.Context(), []byte("token "+c.run), noon())
	})},
	{name: "DeleteFamilyOf", again: studio.ErrNotFound, prepare: after(addToken, func(c lostCall) error {
		return c.DeleteFamilyOf(c.Context(), c.run, "family "+c.run, noon())
	})},
	{name: "SeeAddress", prepare: ready(func(c lostCall) error {
		return c.SeeAddress(c.Context(), c.run, "192.0.2.1", noon())
	})},
	{name: "CountLogin", counts: true, prepare: ready(countLogin)},
	{name: "ReleaseLoginAttempt", counts: true, prepare: after(countLogin, func(c lostCall) error {
		return c.ReleaseLoginAttempt(c.Context(), []studio.Throttle{{Key: c.run, Free: 9}, {Key: c.run + "forgets", Forgets: true}}, true)
	})},
	{name: "CountWebhookTest", counts: true, prepare: ready(func(c lostCall) error {
		return c.CountWebhookTest(c.Context(), c.run, noon(), time.Minute, 9)
	})},

	{name: "CreateWorkspace", again: studio.ErrExists, prepare: func(c lostCall) func() error {
		return func() error {
			return c.CreateWorkspace(c.Context(), studio.Workspace{ID: c.run, Name: "Films", CreatedAt: noon()})
		}
	}},
	{name: "RemoveMember", again: studio.ErrNotFound, prepare: ready(func(c lostCall) error {
		return c.RemoveMember(c.Context(), c.run, c.run)
	})},
	{name: "ImportProjects", again: studio.ErrExists, prepare: ready(importProject)},
	{name: "AddAPIKey", again: studio.ErrExists, prepare: ready(addAPIKey)},
	{name: "UseAPIKey", prepare: after(addAPIKey, func(c lostCall) error { return c.UseAPIKey(c.Context(), c.run, noon()) })},
	{name: "DeleteAPIKey", again: studio.ErrNotFound, prepare: after(addAPIKey, func(c lostCall) error {
		return c.DeleteAPIKey(c.Context(), c.run, c.run)
	})},
	{name: "AddUpload", again: studio.ErrExists, prepare: ready(addUpload)},
	{name: "AddLink", again: studio.ErrExists, prepare: ready(addLink)},
	{name: "ClaimLink", again: studio.ErrNotFound, prepare: after(addLink, func(c lostCall) error {
		return c.ClaimLink(c.Context(), []byte("link "+c.run), noon(), noon().Add(time.Minute))
	})},
	{name: "AddPlace", prepare: ready(func(c lostCall) error { return c.AddPlace(c.Context(), c.run) })},
	{name: "CheckWritable", prepare: ready(func(c lostCall) error { return c.CheckWritable(c.Context()) })},
	{name: "Join", again: studio.ErrNotFound, prepare: after(addLink, func(c lostCall) error {
		guest := studio.User{ID: c.run + "guest", Email: c.run + "guest", CreatedAt: noon()}
		return c.Join(c.Context(), []byte("link "+c.run), guest, studio.Workspace{ID: c.run + "new", CreatedAt: noon()}, studio.RefreshToken{})
	})},
	{name: "ResetPassword", again: studio.ErrNotFound, prepare: after(addLink, func(c lostCall) error {
		return c.ResetPassword(c.Context(), []byte("link "+c.run), c.run, "new", studio.RefreshToken{}, noon())
	})},
	{name: "WithAct", again: studio.ErrExists, prepare: ready(func(c lostCall) error {
		return c.AddAct(c.Context(), studio.Act{ID: c.run, At: noon()})
	})},

	{name: "CreateSubject", again: studio.ErrExists, prepare: ready(func(c lostCall) error {
		s := avatarOf(c.run, c.run+"a")
		s.Request = []byte(`{"base_video_url":"/uploads/` + uuid.Nil.String() + `/file"}`)
		return errorOf(c.CreateSubject(c.Context(), s, studio.IdempotencyKey{}))
	})},
	{name: "CreateSubject with a key", prepare: ready(func(c lostCall) error { return createKeyed(c, "a") })},
	{name: "CreateSubject with an expired key", prepare: after(func(c lostCall) error {
		check(c, createKeyed(c, "a"))
		c.Exec(c, `UPDATE subjects SET created_at = 1 WHERE id = '`+c.run+`a'`)
		return nil
	}, func(c lostCall) error { return createKeyed(c, "b") })},
	{name: "UpdateSubject", prepare: ready(func(c lostCall) error {
		_, err := c.UpdateSubject(c.Context(), c.run, func(s *studio.Subject) error {
			if s.Status == studio.Processing {
				s.Status, s.RenderAt = studio.Failed, time.Time{}
				event(s)
			}
			return nil
		})
		return err
	})},
	{name: "UpdateSubject to render later", prepare: ready(func(c lostCall) error {
		_, err := c.UpdateSubject(c.Context(), c.run, func(s *studio.Subject) error {
			s.RenderAt = noon().Add(time.Minute)
			return nil
		})
		return err
	})},
	{name: "SetProgress", prepare: ready(func(c lostCall) error {
		return c.SetProgress(c.Context(), c.run, 50, "renders", noon())
	})},
	{name: "DeleteSubject", prepare: after(func(c lostCall) error {
		upload, s := uuid.NewString(), avatarOf(c.run, c.run+"a")
		s.Request = []byte(`{"base_video_url":"/uploads/` + upload + `/file"}`)
		check(c, c.AddUpload(c.Context(), studio.Upload{ID: upload, UserID: c.run, CreatedAt: noon(), ExpiresAt: noon()}, 9))
		return errorOf(c.CreateSubject(c.Context(), s, studio.IdempotencyKey{}))
	}, func(c lostCall) error {
		return errorOf(c.DeleteSubject(c.Context(), c.run, "", studio.Avatar, c.run+"a", noon(), noon().Add(-time.Hour)))
	})},

	{name: "ClaimRenderings", prepare: ready(claimRendering)},
	{name: "ClaimRenderings of many", prepare: after(func(c lostCall) error {
		create(c.T, c.Store, avatarOf(c.run, c.run+"a"))
		c.Exec(c, `UPDATE renderings SET due_at = 1 WHERE subject_id = '`+c.run+`a'`)
		return nil
	}, claimRendering)},
	{name: "RenewRenderings", prepare: after(claimRendering, func(c lostCall) error {
		return errorOf(c.RenewRenderings(c.Context(), c.run, []string{c.run}))
	})},
	{name: "ReleaseRendering", prepare: after(claimRendering, func(c lostCall) error {
		return c.ReleaseRendering(c.Context(), c.run, c.run)
	})},

	{name: "SaveAttempt", prepare: ready(func(c lostCall) error {
		return recordFirst(c, store.Outcome{State: studio.EventPending, RetryAt: noon().Add(time.Hour)})
	})},
	{name: "SaveAttempt of the next attempt", prepare: after(func(c lostCall) error {
		return recordFirst(c, store.Outcome{State: studio.EventPending, RetryAt: noon()})
	}, func(c lostCall) error {
		_, err := c.SaveAttempt(c.Context(), "", store.MadeAttempt{
			Event:   studio.Event{ID: c.run + "-1", SubjectID: c.run, Sequence: 1},
			Attempt: studio.Attempt{Number: 2, At: noon().Add(time.Second), Status: 410},
			Outcome: store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonGone, DisableURL: true},
		})
		return err
	})},
	{name: "ExhaustEvents", prepare: ready(exhaust)},
	{name: "SaveResults", prepare: ready(func(c lostCall) error {
		return c.SaveResults(c.Context(), []store.EndpointResult{{UserID: c.run, URL: "https://hooks.example.com/", FailingSince: noon()}})
	})},
	{name: "EnableEndpoint", prepare: after(pause, func(c lostCall) error {
		return c.EnableEndpoint(c.Context(), c.run, "https://hooks.example.com/")
	})},
	{name: "PauseEndpoint", prepare: ready(pause)},
	{name: "Resume", again: studio.ErrNotFound, prepare: after(func(c lostCall) error {
		return errorOf(c.Pause(c.Context(), noon()))
	}, func(c lostCall) error { return c.Resume(c.Context()) })},
	{name: "SaveBreaker", prepare: ready(saveBreaker)},
	{name: "ForgetBreaker", prepare: after(saveBreaker, func(c lostCall) error {
		return c.ForgetBreaker(c.Context(), "https://"+c.run)
	})},
	{name: "ClaimAlert", again: studio.ErrNotFound, prepare: after(failForDays, claimAlert)},
	{name: "PostponeAlert", prepare: after(func(c lostCall) error {
		check(c, failForDays(c))
		return claimAlert(c)
	}, func(c lostCall) error {
		return c.PostponeAlert(c.Context(), store.Alert{UserID: c.run, URL: "https://hooks.example.com/"}, noon())
	})},
	{name: "AddReplay", prepare: after(exhaust, addReplay)},
	{name: "AddReplay with an expired key", prepare: after(func(c lostCall) error {
		check(c, exhaust(c))
		check(c, addReplay(c))
		c.Exec(c, `UPDATE replays SET requested_at = 1, id = id || 'old' WHERE user_id = '`+c.run+`'`)
		return nil
	}, addReplay)},
	{name: "ReplayNext", prepare: after(func(c lostCall) error {
		check(c, exhaust(c))
		return addReplay(c)
	}, func(c lostCall) error {
		for { // the server may see late that the connection, which has locked the replay, is broken
			next, err := c.ReplayNext(c.Context(), noon())
			if err != nil || !next.After(noon()) {
				return err
			}
		}
	})},
	{name: "ReplayNext with a backlog", prepare: after(func(c lostCall) error {
		c.Exec(c, numbers+`INSERT INTO deliveries (subject_id, user_id, origin, url, sequence, due_at) SELECT 'backlog' || n, '`+c.run+`', '', '', 1, 1 FROM numbers WHERE n <= 1000`)
		check(c, exhaust(c))
		return addReplay(c)
	}, replayNext)},

	{name: "AddWebhookSecret", counts: true, prepare: ready(func(c lostCall) error {
		return c.AddWebhookSecret(c.Context(), c.run, "secret", noon(), noon().Add(time.Hour), 9)
	})},
	{name: "Key", prepare: ready(func(c lostCall) error {
		return errorOf(c.Key(c.Context(), c.run, func() []byte { return []byte("key") }))
	})},
	{name: "SetKey", prepare: ready(setKey)},
	{name: "ReleaseKey", prepare: after(setKey, func(c lostCall) error {
		return c.ReleaseKey(c.Context(), c.run, []byte("key"))
	})},
	{name: "DeleteKey", prepare: after(setKey, func(c lostCall) error { return c.DeleteKey(c.Context(), c.run) })},
	{name: "Seal", prepare: after(func(c lostCall) error {
		c.Exec(c, `INSERT INTO signing_keys (name, key) VALUES ('`+c.run+`', CAST('a' AS `+bytesType(c.Store)+`))`,
			`INSERT INTO webhook_secrets (user_id, secret) VALUES ('`+c.run+`', 'a')`)
		return nil
	}, func(c lostCall) error {
		return errorOf(c.Seal(c.Context(), false))
	})},
	{name: "Unreadable", prepare: after(func(c lostCall) error {
		other := keyring.New().Seal("a", "b")
		c.Exec(c, `INSERT INTO signing_keys (name, key) VALUES ('`+c.run+`', CAST('`+other+`' AS `+bytesType(c.Store)+`))`,
			`INSERT INTO webhook_secrets (user_id, secret) VALUES ('`+c.run+`', '`+other+`')`)
		return nil
	}, func(c lostCall) error {
		return errorOf(c.Unreadable(c.Context(), true))
	})},
	{name: "SeeDaemon", prepare: ready(seeDaemon)},
	{name: "RemoveDaemon", prepare: after(seeDaemon, func(c lostCall) error { return c.RemoveDaemon(c.Context(), c.run) })},
	{name: "Prune", prepare: ready(func(c lostCall) error { return c.Prune(c.Context(), noon()) })},
	{name: "ShiftDue", only: onlySQLite, counts: true, prepare: ready(func(c lostCall) error {
		return c.ShiftDue(c.Context(), time.Second)
	})},

	{name: "LeaseHolder.Renew, the first", only: onlyPostgres, prepare: func(c lostCall) func() error {
		c.Exec(c, `DELETE FROM holders`)
		holder := newHolder(c.T, c.Store)
		return func() error {
			holding, err := holder.Renew(c.Context(), false)
			if err == nil && len(holding.Lanes) != store.Lanes {
				c.Errorf("the holder has %d lanes", len(holding.Lanes))
			}
			return err
		}
	}},
	{name: "LeaseHolder.Renew", only: onlyPostgres, prepare: func(c lostCall) func() error {
		holder := newHolder(c.T, c.Store)
		renew := func() error {
			return errorOf(holder.Renew(c.Context(), false))
		}
		check(c, renew())
		return renew
	}},
	{name: "LeaseHolder.Release", only: onlyPostgres, prepare: func(c lostCall) func() error {
		holder := newHolder(c.T, c.Store)
		try(holder.Renew(c.Context(), false))(c)
		return func() error { return holder.Release(c.Context(), []int{1}, map[string]string{"a": c.run}) }
	}},
	{name: "LeaseHolder.ReleaseAll", only: onlyPostgres, prepare: func(c lostCall) func() error {
		holder := newHolder(c.T, c.Store)
		try(holder.Renew(c.Context(), false))(c)
		return func() error { return holder.ReleaseAll(c.Context()) }
	}},
	{name: "HandleClockSetBack", only: onlyPostgres, prepare: func(c lostCall) func() error {
		call := ready(func(c lostCall) error {
			return errorOf(c.HandleClockSetBack(c.Context()))
		})(c)
		check(c, addReplay(c))
		holder := newHolder(c.T, c.Store)
		try(holder.Renew(c.Context(), false))(c)
		c.Exec(c, `UPDATE holders SET seen_at = clock_timestamp() + INTERVAL '1 hour'`)
		return call
	}},
}

func newHolder(t *testing.T, db *store.Store) *store.LeaseHolder {
	t.Helper()
	holder := db.NewLeaseHolder()
	t.Cleanup(func() { _ = holder.ReleaseAll(t.Context()) })
	return holder
}

func addToken(c lostCall) error {
	return c.AddRefreshToken(c.Context(), studio.RefreshToken{
		Hash: []byte("token " + c.run), Family: "family " + c.run, UserID: c.run, ExpiresAt: noon().Add(time.Hour),
	}, "", noon())
}

func rotateToken(c lostCall) error {
	return errorOf(c.RotateRefreshToken(c.Context(), []byte("token "+c.run), noon(), studio.RefreshToken{Hash: []byte("next " + c.run), ExpiresAt: noon().Add(time.Hour)}))
}

func countLogin(c lostCall) error {
	return errorOf(c.CountLogin(c.Context(), []studio.Throttle{{Key: c.run, Free: 9}, {Key: c.run + "forgets", Free: 9}}, noon()))
}

func addAPIKey(c lostCall) error {
	return c.AddAPIKey(c.Context(), studio.APIKey{ID: c.run, UserID: c.run, Hash: []byte("key " + c.run), CreatedAt: noon()}, 9)
}

func addUpload(c lostCall) error {
	return c.AddUpload(c.Context(), studio.Upload{ID: c.run, UserID: c.run, CreatedAt: noon(), ExpiresAt: noon().Add(time.Hour)}, 9)
}

func importProject(c lostCall) error {
	return errorOf(c.ImportProjects(c.Context(), []studio.Project{{ID: c.run, WorkspaceID: c.run, UserID: c.run, CreatedAt: noon(), Document: "{}"}}))
}

func addLink(c lostCall) error {
	return c.AddLink(c.Context(), studio.Link{Hash: []byte("link " + c.run), Purpose: studio.InviteLink, Email: c.run, ExpiresAt: noon().Add(time.Hour)})
}

func createKeyed(c lostCall, id string) error {
	s := avatarOf(c.run, c.run+id)
	s.WorkspaceID = c.run
	return errorOf(c.CreateSubject(c.Context(), s, studio.IdempotencyKey{Key: "key", Fingerprint: []byte("f"), After: noon().Add(-time.Hour)}))
}

// claimRendering claims as a process does that may have claimed before without an answer.
func claimRendering(c lostCall) error {
	if err := c.ReleaseRenderings(c.Context(), c.run, nil); err != nil {
		return err
	}
	subjects, _, err := c.ClaimRenderings(c.Context(), c.run, noon(), 1)
	if err == nil && len(subjects) != 1 {
		c.Errorf("%s: %d renderings are claimed", c.run, len(subjects))
	}
	return err
}

func recordFirst(c lostCall, outcome store.Outcome) error {
	_, err := c.SaveAttempt(c.Context(), "", store.MadeAttempt{
		Event: studio.Event{ID: c.run + "-1", SubjectID: c.run, Sequence: 1}, Outcome: outcome,
		Attempt: studio.Attempt{Number: 1, At: noon(), Duration: time.Second, Status: 500},
	})
	return err
}

func pause(c lostCall) error {
	return c.PauseEndpoint(c.Context(), c.run, "https://hooks.example.com/", noon())
}

func saveBreaker(c lostCall) error {
	return c.SaveBreaker(c.Context(), store.Breaker{Origin: "https://" + c.run, Until: noon(), Pause: time.Minute})
}

func claimAlert(c lostCall) error {
	alert, err := c.ClaimAlert(c.Context(), noon())
	if err == nil && alert.Email != c.run {
		c.Errorf("the alert of %s is %+v", c.run, alert)
	}
	return err
}

// failForDays makes the URL of the user fail, and no other one without an alert.
func failForDays(c lostCall) error {
	c.Exec(c, `UPDATE endpoints SET disabled_at = NULL, failing_since = NULL WHERE user_id <> '`+bystander+`'`, fmt.Sprintf(`UPDATE endpoints SET failing_since = 1, last_at = %d WHERE user_id = '%s'`, noon().UnixMicro(), c.run))
	return nil
}

func exhaust(c lostCall) error {
	_, err := c.ExhaustEvents(c.Context(), c.run, noon(), studio.ReasonSchedule)
	return err
}

func addReplay(c lostCall) error {
	key := studio.IdempotencyKey{Key: "replay", Fingerprint: []byte("f"), After: noon().Add(-time.Hour)}
	return errorOf(c.AddReplay(c.Context(), c.run, exhausted(studio.EventFilter{UserID: c.run, From: time.UnixMicro(1)}), key, noon(), 9))
}

func replayNext(c lostCall) error {
	return errorOf(c.ReplayNext(c.Context(), noon()))
}

func setKey(c lostCall) error {
	return c.SetKey(c.Context(), c.run, []byte("key"))
}

func seeDaemon(c lostCall) error {
	return c.SeeDaemon(c.Context(), store.Daemon{ID: c.run, Started: noon()})
}

// bytesType returns the type of bytes.
func bytesType(db *store.Store) string {
	if db.Shared() {
		return "BYTEA"
	}
	return "BLOB"
}
