package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// publicKeys returns the ids of the published keys.
func publicKeys(t *testing.T, url string) (ids []string) {
	t.Helper()
	_, content := get(t, url+"/.well-known/jwks.json")
	var set struct {
		Keys []struct {
			ID string `json:"kid"`
		} `json:"keys"`
	}
	check(t, json.Unmarshal([]byte(content), &set))
	for _, key := range set.Keys {
		ids = append(ids, key.ID)
	}
	return ids
}

func TestCommands_rotateTokenSigningKey(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		d := startDaemon(t, func(cfg *daemonConfig) { cfg.Database = dsn })
		db, token := "--db="+dsn, login(t, d.url(), testEmail).AccessToken
		reread := func() {
			keys, err := d.readSigningKeys(t.Context())
			check(t, err)
			check(t, d.tokens.SetKeys(keys))
		}
		first := publicKeys(t, d.url())
		if said := must(t, "", "token", "rotate", db); !strings.Contains(said, "with a new key from ") {
			t.Error(said)
		}
		reread()
		if both := publicKeys(t, d.url()); len(first) != 1 || len(both) != 2 || both[0] != first[0] {
			t.Errorf("the published keys were %v and are %v", first, both)
		}
		if status := listStatus(t, d.url(), token); status != http.StatusOK {
			t.Errorf("a token of the old key is answered %d", status)
		}
		must(t, "", "token", "rotate", "--revoke", db)
		reread()
		if keys := publicKeys(t, d.url()); len(keys) != 1 || keys[0] == first[0] {
			t.Errorf("after a revocation the published keys are %v", keys)
		}
		if status := listStatus(t, d.url(), token); status != http.StatusUnauthorized {
			t.Errorf("a token of the deleted key is answered %d", status)
		}
		if status := listStatus(t, d.url(), login(t, d.url(), testEmail).AccessToken); status != http.StatusOK {
			t.Errorf("a new token is answered %d", status)
		}
	})
}
