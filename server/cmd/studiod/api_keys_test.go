package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A program works with a key until it is revoked: then every daemon refuses it and has ended its streams.
func TestAPIKey_worksUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	prepareDatabase(t, dsn)
	p := startProcess(t, dsn, "--renderer=simulate:0s")
	db := "--db=" + dsn
	workspace := must(t, "", "workspace", "add", db, "Films")
	must(t, "", "workspace", "member", db, workspace, testEmail)
	writing := must(t, "", "key", "add", db, "--workspace", workspace, "--expires-in=1h", testEmail, "nightly batch")
	reading := must(t, "", "key", "add", db, "--read-only", testEmail, "monitor")
	client := &http.Client{Timeout: harness.Timeout}
	for _, test := range []struct {
		method, path, key string
		status            int
	}{
		{http.MethodGet, "/v1/lipsync/list", reading, http.StatusOK},
		{http.MethodPost, "/v1/lipsync/create_lipsync", reading, http.StatusForbidden},
		{http.MethodPost, "/v1/lipsync/create_lipsync", writing, http.StatusOK},
		{http.MethodGet, "/projects/v2", writing, http.StatusOK},
	} {
		response, content, err := exchange(t.Context(), client, test.method, p.URL+test.path, "{}", bearer(test.key))
		check(t, err)
		if response.StatusCode != test.status {
			t.Errorf("%s %s: %d, %s", test.method, test.path, response.StatusCode, content)
		}
	}
	listed := printed[struct {
		ID, Scope   string
		WorkspaceID string    `json:"workspace_id"`
		ExpiresAt   time.Time `json:"expires_at"`
		UsedAt      time.Time `json:"used_at"`
	}](t, "key", "list", db, testEmail)
	if len(listed) != 2 || listed[0].Scope != "read" || listed[1].WorkspaceID != workspace || listed[1].ExpiresAt.IsZero() || listed[1].UsedAt.IsZero() {
		t.Fatalf("the keys are %+v", listed)
	}
	for _, end := range [][]string{{"workspace", "member", db, "--remove", workspace, testEmail}, {"key", "revoke", db, testEmail, listed[1].ID}} {
		must(t, "", "workspace", "member", db, workspace, testEmail)
		stream := openEvents(t, p.URL, writing, "")
		must(t, "", end...)
		if status := listStatus(t, p.URL, writing); status != http.StatusUnauthorized {
			t.Errorf("after %q, a key is answered %d", end, status)
		}
		if text, _ := io.ReadAll(stream); !strings.Contains(string(text), `"status":401`) {
			t.Errorf("after %q, the stream of a key ends with %q", end, text)
		}
	}
	check(t, p.Stop())
	for _, key := range []string{reading, writing} {
		if strings.Contains(p.Log(), key) {
			t.Error("the log contains a key")
		}
	}
}
