package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// keptTokens is a [client.TokenSource] with the stored access token, which it renews when the service
// rejects it. Using a refresh token twice ends the login, so only one command renews at a time. Commands
// that waited use the new tokens.
type keptTokens struct {
	file credentials
	api  *gen.ClientWithResponses

	mu   sync.Mutex
	kept login
}

var _ client.TokenSource = (*keptTokens)(nil)

// Token implements [client.TokenSource]. A renewal does not end with ctx, because its response must be
// stored.
func (t *keptTokens) Token(ctx context.Context, refused client.Credential) (client.Credential, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if string(refused) != t.kept.AccessToken {
		return client.Credential(t.kept.AccessToken), nil
	}
	unlock, err := t.file.lock(ctx)
	if err != nil {
		return "", fmt.Errorf("waiting for another command: %w", err)
	}
	defer unlock()
	now, err := t.file.load()
	switch {
	case err != nil:
		return "", notKept(err)
	case now.BaseURL != t.kept.BaseURL || now.Email != t.kept.Email:
		return "", errLogin
	case now.AccessToken == string(refused):
		pair, err := t.renew(context.WithoutCancel(ctx), now.RefreshToken)
		if err != nil {
			return "", err
		}
		now.AccessToken, now.RefreshToken = pair.AccessToken, pair.RefreshToken
		if err := t.file.save(now); err != nil {
			return "", err
		}
	}
	t.kept = now
	return client.Credential(now.AccessToken), nil
}

func (t *keptTokens) renew(ctx context.Context, refresh string) (*gen.TokenPair, error) {
	answer, err := t.api.RefreshTokensWithResponse(ctx, gen.RefreshRequest{RefreshToken: refresh})
	switch {
	case errors.Is(err, client.ErrUnauthorized):
		return nil, fmt.Errorf("the login has ended: %w", errLogin)
	case err != nil:
		return nil, err
	}
	return pairOf(answer.JSON200)
}

func pairOf(pair *gen.TokenPair) (*gen.TokenPair, error) {
	if pair == nil || pair.AccessToken == "" || pair.RefreshToken == "" {
		return nil, errors.New("the service answers no tokens")
	}
	return pair, nil
}
