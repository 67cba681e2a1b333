package auth_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/api/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// secretKey is an API key with the right checksum.
const secretKey = "avs_000000000000000000000000000000002wjyrI"

// keys is a store with one API key.
type keys struct {
	key  studio.APIKey
	err  error
	read int
	now  time.Time
}

func (k *keys) tokens(t *testing.T) *auth.Tokens {
	t.Helper()
	k.now = time.Date(2026, 1, 12, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return k.now }
	tokens := try(auth.NewTokens([]auth.SigningKey{{Seed: auth.NewSeed()}}, now))(t)
	tokens.APIKeys = &auth.APIKeys{Now: now, Check: func(context.Context, []byte) (studio.APIKey, error) {
		k.read++
		return k.key, k.err
	}}
	return tokens
}

// authenticate returns the user of a request, and the code of the error.
func authenticate(t *testing.T, tokens *auth.Tokens, method, operation, workspace, token string) (user, code string, r *http.Request) {
	t.Helper()
	r = httptest.NewRequestWithContext(t.Context(), method, "/", http.NoBody)
	r.Header.Set("X-Workspace-Id", workspace)
	_, principal, err := tokens.Authenticate(t.Context(), server.Credential{Scheme: "bearerAuth", Token: token, OperationID: operation, Request: r})
	if problem, ok := errors.AsType[*server.Error](err); ok {
		code = problem.Code
		if code == "unauthorized" && !strings.HasPrefix(problem.Detail, "The API key is not valid") {
			t.Errorf("the detail of a wrong key is %q", problem.Detail)
		}
	} else if err != nil {
		code = "unauthorized"
	}
	return principal.UserID, code, r
}

func TestAPIKeys_allowWhatTheirScopeAllows(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		key                                 studio.APIKey
		method, operation, workspace, token string
		code, sent                          string
	}{
		"read":                       {studio.APIKey{ReadOnly: true}, "GET", "listVideos", "", secretKey, "", ""},
		"write with a read-only key": {studio.APIKey{ReadOnly: true}, "POST", "createVideo", "", secretKey, "api_key_read_only", ""},
		"secrets":                    {studio.APIKey{ReadOnly: true}, "GET", "getWebhookSecrets", "", secretKey, "api_key_read_only", ""},
		"write":                      {studio.APIKey{}, "POST", "createVideo", "w2", secretKey, "", "w2"},
		"no workspace":               {studio.APIKey{WorkspaceID: "w"}, "GET", "listProjects", "", secretKey, "", "w"},
		"the workspace":              {studio.APIKey{WorkspaceID: "w"}, "GET", "listProjects", "w", secretKey, "", "w"},
		"another workspace":          {studio.APIKey{WorkspaceID: "w"}, "GET", "listProjects", "w2", secretKey, "api_key_workspace", "w2"},
		"a typing error":             {studio.APIKey{}, "GET", "listVideos", "", secretKey[:41] + "0", "unauthorized", ""},
	} {
		k := &keys{key: test.key}
		k.key.UserID = "ada"
		user, code, r := authenticate(t, k.tokens(t), test.method, test.operation, test.workspace, test.token)
		if code != test.code || (user == "ada") != (code == "") || r.Header.Get("X-Workspace-Id") != test.sent {
			t.Errorf("%s: %q, %q, workspace %q", name, user, code, r.Header.Get("X-Workspace-Id"))
		}
	}
	tokens := (&keys{}).tokens(t)
	for _, other := range []server.Credential{{Scheme: "another", Token: secretKey}, {Scheme: "bearerAuth", Token: secretKey, Scopes: []string{"admin"}}} {
		if _, _, err := tokens.Authenticate(t.Context(), other); err == nil {
			t.Errorf("a key is accepted for %s with the scopes %q", other.Scheme, other.Scopes)
		}
	}
	tokens.APIKeys = nil
	if _, code, _ := authenticate(t, tokens, "GET", "listVideos", "", secretKey); code != "unauthorized" {
		t.Error("a key is accepted without keys")
	}
}

// A key that is in use is read once a second. While it cannot be read, what was read before counts.
func TestAPIKeys_areReadOnceASecond(t *testing.T) {
	t.Parallel()
	k := &keys{key: studio.APIKey{UserID: "ada"}}
	tokens := k.tokens(t)
	use := func(after time.Duration, wantCode string, wantRead int) {
		t.Helper()
		k.now = k.now.Add(after)
		if _, code, _ := authenticate(t, tokens, "GET", "listVideos", "", secretKey); code != wantCode || k.read != wantRead {
			t.Errorf("the code is %q, want %q, after %d reads, want %d", code, wantCode, k.read, wantRead)
		}
	}
	use(0, "", 1)
	use(time.Second-1, "", 1)
	use(1, "", 2)
	k.err = errors.New("down")
	use(time.Second, "", 3)
	k.key.ExpiresAt, k.err = k.now.Add(1500*time.Millisecond), nil
	use(time.Second, "", 4)
	use(time.Second/2, "unauthorized", 4) // it has expired
	k.err = errors.New("down")
	use(time.Second, "service_busy", 5) // what was read before has expired, too
	k.key.ExpiresAt, k.err = time.Time{}, nil
	use(time.Second, "", 6)
	k.err = studio.ErrUnauthorized
	use(time.Second/2, "", 6)
	use(time.Second/2, "unauthorized", 7)
	k.err = errors.New("down")
	use(0, "service_busy", 8)
}
