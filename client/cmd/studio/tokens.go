package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// storedTokens is a [client.TokenSource] with the stored access token, which it renews when the service
// rejects it. Using a refresh token twice ends the session, so only one command renews at a time. Commands
// that waited use the new tokens.
type storedTokens struct {
	file credentials
	api  *client.Client

	mu     sync.Mutex
	stored login
}

var _ client.TokenSource = (*storedTokens)(nil)

// Token implements [client.TokenSource]. A renewal does not end with ctx, because its response must be
// stored.
func (t *storedTokens) Token(ctx context.Context, rejected client.Credential) (client.Credential, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if string(rejected) != t.stored.AccessToken {
		return client.Credential(t.stored.AccessToken), nil
	}
	unlock, err := t.file.lock(ctx)
	if err != nil {
		return "", fmt.Errorf("waiting for another studio command: %w", err)
	}
	defer unlock()
	now, err := t.file.load()
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	case err != nil || now.BaseURL != t.stored.BaseURL || now.Email != t.stored.Email:
		return "", errLogin
	case now.AccessToken == string(rejected) && now.RefreshToken == "":
		return "", fmt.Errorf("the API key has expired or was revoked: %w", errLogin)
	case now.AccessToken == string(rejected):
		if err := t.file.save(now); err != nil { // the next tokens could not be stored, and the session would be lost
			return "", err
		}
		pair, err := t.renew(context.WithoutCancel(ctx), now.RefreshToken)
		if err != nil {
			return "", err
		}
		now.AccessToken, now.RefreshToken = pair.AccessToken, pair.RefreshToken
		if err := t.file.save(now); err != nil {
			return "", err
		}
	}
	t.stored = now
	return client.Credential(now.AccessToken), nil
}

func (t *storedTokens) renew(ctx context.Context, refresh string) (*gen.TokenPair, error) {
	pair, err := t.api.RefreshTokens(ctx, gen.RefreshRequest{RefreshToken: refresh})
	if errors.Is(err, client.ErrUnauthorized) {
		err = fmt.Errorf("the login has expired: %w", errLogin)
	}
	return pairOf(pair, err)
}

// pairOf refuses a response without tokens, such as that of another service, so that it replaces no stored ones.
func pairOf(pair *gen.TokenPair, err error) (*gen.TokenPair, error) {
	if err == nil && (pair.AccessToken == "" || pair.RefreshToken == "") {
		err = errors.New("the response of the service has no tokens")
	}
	return pair, err
}
