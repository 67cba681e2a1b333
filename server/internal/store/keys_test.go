package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func openWith(t *testing.T, dsn string, keys *keyring.Keyring) *store.Store {
	t.Helper()
	db := try(store.Open(t.Context(), dsn, store.Config{Keys: keys}))(t)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// storedValues returns the keys and secrets as they are stored.
func storedValues(t *testing.T, db *store.Store) (all []string) {
	t.Helper()
	for _, query := range []string{`SELECT key FROM signing_keys ORDER BY name`, `SELECT secret FROM webhook_secrets ORDER BY id`} {
		all = append(all, db.Texts(t, query)...)
	}
	return all
}

func TestStore_Seal_encryptsKeysAndSecrets(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		now := time.Now()
		plain := openWith(t, dsn, nil)
		service := studio.New(studiotest.Config(plain, time.Now))
		user := studiotest.AddUser(t, service, "ada@example.com")
		add := func(db *store.Store, secret string) {
			check(t, db.AddWebhookSecret(t.Context(), user.ID, secret, now, now.Add(time.Hour), 100))
		}
		const first, second = "whsec_the-first-of-all", "whsec_the-second-of-them"
		add(plain, first)
		try(plain.Key(t.Context(), "a-key", func() []byte { return []byte("key-in-clear") }))(t)
		keys := keyring.New()
		check(t, keys.Create(t.TempDir()+"/studio.keys"))
		sealed := openWith(t, dsn, keys)
		if n, err := sealed.Seal(t.Context(), false); n != 2 || err != nil {
			t.Errorf("%d are sealed, %v", n, err)
		}
		add(sealed, second)
		check(t, sealed.SetKey(t.Context(), "a-key", []byte("another-key")))
		want := func(db *store.Store, ids ...string) {
			t.Helper()
			secrets, err := db.WebhookSecrets(t.Context(), user.ID, now)
			if err != nil || len(secrets) != 2 || secrets[0].Secret != second || secrets[1].Secret != first {
				t.Errorf("the secrets are %v, %v", secrets, err)
			}
			key, err := db.Key(t.Context(), "a-key", func() []byte { return []byte("another") })
			if err != nil || string(key) != "another-key" {
				t.Errorf("the key is %q, %v", key, err)
			}
			for i, value := range storedValues(t, db) {
				if !strings.HasPrefix(value, "sealed:1:"+ids[min(i, len(ids)-1)]+":") {
					t.Errorf("value %d is stored as %.30s", i, value)
				}
			}
		}
		want(sealed, keys.IDs()...)
		if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
			for _, file := range []string{path, path + "-wal"} {
				content, err := os.ReadFile(file)
				if err != nil || bytes.Contains(content, []byte(first)) || bytes.Contains(content, []byte("key-in-clear")) {
					t.Errorf("%s still has a secret in clear (%v)", file, err)
				}
			}
		}
		for name, other := range map[string]*keyring.Keyring{"no key": nil, "another key": keyring.New()} {
			db := openWith(t, dsn, other)
			_, err := db.WebhookSecrets(t.Context(), user.ID, now)
			if _, keyErr := db.Keys(t.Context()); !errors.Is(err, keyring.ErrNoKey) || !errors.Is(err, studio.ErrBusy) || !errors.Is(keyErr, keyring.ErrNoKey) {
				t.Errorf("with %s: %v, %v", name, err, keyErr)
			}
			if lost := try(db.Unreadable(t.Context(), false))(t); len(lost.Keys) != 1 || lost.Secrets != 2 || lost.Users != 1 {
				t.Errorf("with %s, this is lost: %+v", name, lost)
			}
		}
		if lost := try(sealed.Unreadable(t.Context(), true))(t); len(lost.Keys) != 0 || lost.Secrets != 0 {
			t.Errorf("what the keys decrypt is deleted: %+v", lost)
		}
		check(t, keys.Rotate())
		if n, err := sealed.Seal(t.Context(), false); n != 0 || err != nil {
			t.Errorf("%d are sealed that were, %v", n, err)
		}
		if n, err := sealed.Seal(t.Context(), true); n != 3 || err != nil {
			t.Errorf("%d are sealed again, %v", n, err)
		}
		want(sealed, keys.IDs()[0])
	})
}

func TestStore_Seal_bindsAValueToItsRow(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		db := openWith(t, dsn, keyring.New())
		service := studio.New(studiotest.Config(db, time.Now))
		var users []studio.User
		for _, name := range []string{"ada", "bob"} {
			users = append(users, studiotest.AddUser(t, service, name+"@example.com"))
			try(service.WebhookSecrets(t.Context(), users[len(users)-1].ID))(t)
			try(db.Key(t.Context(), name, func() []byte { return []byte(name) }))(t)
		}
		for _, swap := range []string{
			fmt.Sprintf(`UPDATE webhook_secrets SET secret = (SELECT secret FROM webhook_secrets WHERE user_id = '%s') WHERE user_id = '%s'`, users[0].ID, users[1].ID),
			`UPDATE signing_keys SET key = (SELECT key FROM signing_keys WHERE name = 'ada') WHERE name = 'bob'`,
		} {
			db.Exec(t, swap)
		}
		if secrets, err := service.WebhookSecrets(t.Context(), users[1].ID); !errors.Is(err, keyring.ErrChanged) {
			t.Errorf("the secret of another is %v, %v", secrets, err)
		}
		if key, err := db.Key(t.Context(), "bob", nil); !errors.Is(err, keyring.ErrChanged) {
			t.Errorf("another key is %q, %v", key, err)
		}
	})
}

// The test has more secrets than one transaction encrypts.
func TestStore_Seal_encryptsInBatches(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		plain := openWith(t, dsn, nil)
		user := studiotest.AddUser(t, studio.New(studiotest.Config(plain, time.Now)), "ada@example.com")
		const many = 1201
		plain.Exec(t, fmt.Sprintf(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < %d)
			INSERT INTO webhook_secrets (user_id, secret) SELECT '%s', 'whsec_' || n FROM numbers`, many, user.ID))
		db := openWith(t, dsn, keyring.New())
		if n, err := db.Seal(context.Background(), false); n != many || err != nil {
			t.Errorf("%d are sealed, %v", n, err)
		}
		if n, err := db.Seal(context.Background(), true); n != 0 || err != nil {
			t.Errorf("%d are sealed again, %v", n, err)
		}
	})
}
