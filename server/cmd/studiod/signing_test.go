package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func TestCommands_rotateTokenSigningKey(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.Database = dsn })
	db, token := "--db="+dsn, login(t, d.url(), testEmail).AccessToken
	reread := func(want int) {
		t.Helper()
		keys := try(d.readSigningKeys(t.Context()))(t)
		check(t, d.tokens.SetKeys(keys))
		if len(keys) != want {
			t.Errorf("there are %d keys, want %d", len(keys), want)
		}
	}
	if said := must(t, "", "token", "rotate", db); !strings.Contains(said, "with a new key from ") {
		t.Error(said)
	}
	reread(2)
	if status := listStatus(t, d.url(), token); status != http.StatusOK {
		t.Errorf("a token of the old key is answered %d", status)
	}
	must(t, "", "token", "rotate", "--revoke", db)
	reread(1)
	if status := listStatus(t, d.url(), token); status != http.StatusUnauthorized {
		t.Errorf("a token of the deleted key is answered %d", status)
	}
	if status := listStatus(t, d.url(), login(t, d.url(), testEmail).AccessToken); status != http.StatusOK {
		t.Errorf("a new token is answered %d", status)
	}
}
