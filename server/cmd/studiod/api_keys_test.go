package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A program works with a key until it is revoked: then every daemon refuses it and has ended its streams.
func TestAPIKey_worksUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		prepareDatabase(t, dsn)
		p := startProcess(t, dsn, "--renderer=simulate:0s")
		db := "--db=" + dsn
		workspace := must(t, "", "workspace", "add", db, "Films")
		must(t, "", "workspace", "member", db, workspace, testEmail)
		writing := must(t, "", "key", "add", db, "--workspace", workspace, "--expires-in=1h", testEmail, "nightly batch")
		reading := must(t, "", "key", "add", db, "--read-only", testEmail, "monitor")
		client := &http.Client{Timeout: harness.Timeout}
		for _, test := range []struct {
			method, path, body, key string
			status                  int
			code                    string
		}{
			{http.MethodGet, "/v1/lipsync/list", "", reading, http.StatusOK, ""},
			{http.MethodPost, "/v1/lipsync/create_lipsync", "{}", reading, http.StatusForbidden, "api_key_read_only"},
			{http.MethodGet, "/v1/webhooks/secret", "", reading, http.StatusForbidden, "api_key_read_only"},
			{http.MethodPost, "/v1/lipsync/create_lipsync", "{}", writing, http.StatusOK, ""},
			{http.MethodGet, "/projects/v2", "", writing, http.StatusOK, ""},
			{http.MethodGet, "/v1/lipsync/list", "", writing[:len(writing)-1], http.StatusUnauthorized, "unauthorized"},
		} {
			response, content, err := exchange(t.Context(), client, test.method, p.URL+test.path, test.body, bearer(test.key))
			check(t, err)
			if response.StatusCode != test.status || test.code != "" && !strings.Contains(content, `"code":"`+test.code+`"`) {
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

		other := must(t, "", "workspace", "add", db, "Ads")
		must(t, "", "workspace", "member", db, other, testEmail)
		everywhere := must(t, "", "key", "add", db, testEmail, "everywhere")
		_, content, err := exchange(t.Context(), client, http.MethodPost, p.URL+"/v1/lipsync/create_lipsync", "{}", bearer(everywhere), "X-Workspace-Id: "+other)
		check(t, err)
		var made struct {
			ID string `json:"inference_id"`
		}
		check(t, json.Unmarshal([]byte(content), &made))
		for key, want := range map[string]int{writing: http.StatusNotFound, everywhere: http.StatusOK} {
			response, content, err := exchange(t.Context(), client, http.MethodPost, p.URL+"/v1/projects/update", `{"project_id":"`+made.ID+`"}`, bearer(key))
			check(t, err)
			if response.StatusCode != want {
				t.Errorf("a project of another workspace: %d, %s", response.StatusCode, content)
			}
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
		fails(t, exitUsage, "no such key", "key", "revoke", db, testEmail, listed[1].ID)
		fails(t, exitUsage, "no such user", "key", "list", db, "eve@example.com")
		fails(t, exitUsage, "1 to 100 characters", "key", "add", db, testEmail, " ")
		fails(t, exitUsage, "not a member", "key", "add", db, "--workspace", listed[0].ID, testEmail, "batch")
		fails(t, exitUsage, "must be between", "key", "add", db, "--expires-in=0s", testEmail, "batch")
	})
}

// The document, the guide, the console and the command say the same about keys for a workspace.
func TestAPIKey_textsSayTheSame(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"document": string(api.Spec), "command": must(t, "", "key", "add", "--help")}
	for _, path := range []string{"../../internal/web/guide/keys.md", "../../internal/web/guide/threat-model.md", "../../internal/web/console/pages/account.html"} {
		text, err := os.ReadFile(path)
		check(t, err)
		texts[path] = string(text)
	}
	for name, text := range texts {
		text = strings.Join(strings.Fields(text), " ")
		for _, phrase := range []string{"sees records and events of", "what concerns the whole account"} {
			if !strings.Contains(text, phrase) {
				t.Errorf("%s does not say %q", name, phrase)
			}
		}
	}
}

// Each operation that needs a token accepts an API key.
func TestDaemon_everyOperationAcceptsAPIKeys(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	_, key, err := d.studio.AddAPIKey(t.Context(), studio.APIKey{UserID: d.user.ID, Name: "batch"})
	check(t, err)
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	_, text := get(t, d.url()+"/openapi.json")
	check(t, json.Unmarshal([]byte(text), &document))
	client, accepted := &http.Client{Timeout: harness.Timeout}, 0
	for path, item := range document.Paths {
		for method, described := range item {
			var operation struct {
				Security []any `json:"security"`
			}
			if !slices.Contains([]string{"get", "post", "put", "patch", "delete"}, method) || json.Unmarshal(described, &operation) != nil || len(operation.Security) == 0 {
				continue
			}
			for token, refused := range map[string]bool{"": true, key: false} {
				request, err := http.NewRequestWithContext(t.Context(), strings.ToUpper(method), d.url()+path, strings.NewReader("{}"))
				check(t, err)
				request.Header.Set("Content-Type", "application/json")
				if token != "" {
					request.Header.Set("Authorization", "Bearer "+token)
				}
				response, err := client.Do(request)
				check(t, err)
				check(t, response.Body.Close()) // a stream has no end
				if got := response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden; got != refused {
					t.Errorf("%s %s with a key %t: %s", method, path, !refused, response.Status)
				}
			}
			accepted++
		}
	}
	if accepted < 20 {
		t.Errorf("the document has %d operations that need a token", accepted)
	}
}
