package auth

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// apiKeyInterval is how long a daemon uses what it has read about an API key. A revoked key is refused after it.
	apiKeyInterval = time.Second
	// apiKeyTimeout bounds the check of the API key of a stream.
	apiKeyTimeout = 5 * time.Second
	// maxAPIKeys limits the keys that are remembered. All are forgotten when there are more.
	maxAPIKeys = 10_000

	workspaceHeader  = "X-Workspace-Id"
	secretsOperation = "getWebhookSecrets"
)

// accountOperations are the operations that concern the whole account of the user. A key for a workspace is refused.
//
//nolint:gochecknoglobals // a constant
var accountOperations = []string{secretsOperation, "rotateWebhookSecret", "testWebhook", "listEndpoints", "setEndpoint"}

// APIKeys checks API keys. It reads a key that is in use once a second. It is safe for concurrent use.
type APIKeys struct {
	// Check returns the key with a hash. The error is [studio.ErrUnauthorized] if it is not valid.
	Check func(ctx context.Context, hash []byte) (studio.APIKey, error)
	Now   func() time.Time

	mu   sync.Mutex
	read map[string]*apiKey // by hash
}

// apiKey is a key that was read. While it is read again, requests use what was read before, and also if that fails.
type apiKey struct {
	studio.APIKey

	due time.Time // of the next reading
}

// authenticate returns the user of a key that may do what the credential is for, and the context of what the user does.
func (a *APIKeys) authenticate(ctx context.Context, credential server.Credential) (context.Context, server.Principal, error) {
	hash, ok := studio.HashAPIKey(credential.Token)
	var key studio.APIKey
	err := errToken
	if ok && a != nil {
		key, err = a.check(ctx, string(hash))
	}
	switch {
	case errors.Is(err, errToken):
		return ctx, server.Principal{}, &server.Error{Status: http.StatusUnauthorized, Code: "unauthorized", Detail: "The API key is not valid, has expired or was revoked.", Err: err}
	case err != nil:
		return ctx, server.Principal{}, err
	}
	r := credential.Request
	if key.ReadOnly && (r.Method != http.MethodGet && r.Method != http.MethodHead || credential.OperationID == secretsOperation) {
		return ctx, server.Principal{}, &server.Error{Status: http.StatusForbidden, Code: "api_key_read_only", Detail: "This API key can only read."}
	}
	if key.WorkspaceID != "" {
		sent := r.Header.Get(workspaceHeader)
		if sent != "" && sent != key.WorkspaceID || slices.Contains(accountOperations, credential.OperationID) {
			return ctx, server.Principal{}, &server.Error{Status: http.StatusForbidden, Code: "api_key_workspace", Detail: "This API key is for one workspace."}
		}
		r.Header.Set(workspaceHeader, key.WorkspaceID) // the key stands for it
		ctx = studio.OnlyWorkspace(ctx, key.WorkspaceID)
	}
	return ctx, server.Principal{UserID: key.UserID, Value: &access{userID: key.UserID, apiKey: string(hash)}}, nil
}

// check returns the key with a hash.
func (a *APIKeys) check(ctx context.Context, hash string) (studio.APIKey, error) {
	now := a.Now()
	a.mu.Lock()
	known := a.read[hash]
	fresh := known != nil && now.Before(known.due)
	if known != nil && !fresh {
		known.due = now.Add(apiKeyInterval)
	}
	a.mu.Unlock()
	if fresh {
		if known.Expired(now) {
			return studio.APIKey{}, errToken
		}
		return known.APIKey, nil
	}
	var key studio.APIKey
	var err error
	studio.OnOwnStack(func() { key, err = a.Check(ctx, []byte(hash)) })
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case errors.Is(err, studio.ErrUnauthorized):
		delete(a.read, hash)
		return studio.APIKey{}, errToken
	case err != nil && known != nil && !known.Expired(now):
		return known.APIKey, nil
	case err != nil:
		return studio.APIKey{}, server.Busy(apiKeyInterval, err)
	}
	if a.read == nil || len(a.read) >= maxAPIKeys {
		a.read = make(map[string]*apiKey)
	}
	a.read[hash] = &apiKey{key, now.Add(apiKeyInterval)}
	return key, nil
}

// valid reports whether the key with a hash can still be used.
func (a *APIKeys) valid(ctx context.Context, hash string) bool {
	ctx, cancel := context.WithTimeout(ctx, apiKeyTimeout)
	defer cancel()
	_, err := a.check(ctx, hash)
	return !errors.Is(err, errToken)
}
