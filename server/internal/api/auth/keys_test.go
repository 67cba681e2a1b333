package auth_test

import (
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/api/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func TestTokens_rotateKeys(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 12, 12, 0, 0, 0, time.UTC)
	first, second := auth.SigningKey{Seed: auth.NewSeed()}, auth.SigningKey{Seed: auth.NewSeed(), From: now.Add(auth.KeyOverlap)}
	open := func(keys ...auth.SigningKey) *auth.Tokens {
		tokens, err := auth.NewTokens(keys, func() time.Time { return now })
		check(t, err)
		return tokens
	}
	// Other daemons load the new key slightly earlier or later.
	late, early := open(first), open(second, first)
	valid := func(tokens *auth.Tokens, token string) bool {
		_, err := tokens.Verify(token)
		return err == nil
	}
	issue := func(tokens *auth.Tokens) string {
		token, err := tokens.Issue(studio.AccessToken{UserID: "ada", SessionID: "session", IssuedAt: now})
		check(t, err)
		return token
	}
	if !valid(late, issue(early)) {
		t.Error("before it takes over, the new key signs")
	}
	now = now.Add(auth.KeyOverlap)
	before, after := issue(late), issue(early)
	if !valid(early, before) || !valid(early, after) {
		t.Error("after it took over, a token is not valid")
	}
	if valid(late, after) {
		t.Error("the new key signs nothing")
	}
	if err := late.SetKeys([]auth.SigningKey{first, second}); err != nil || !valid(late, after) || !valid(late, before) {
		t.Errorf("with the new key a token is not valid (%v)", err)
	}
	// An attacker who has the old key can sign with it.
	forged, err := open(first).Issue(studio.AccessToken{UserID: "ada", SessionID: "session", IssuedAt: now.Add(24 * time.Hour)})
	if err != nil || !valid(early, forged) {
		t.Fatal("the old key is of no use yet")
	}
	now = now.Add(auth.TokenLifetime + auth.KeyOverlap)
	if valid(early, forged) {
		t.Error("the old key is still one")
	}
	if err := early.SetKeys(nil); err == nil {
		t.Error("no key is accepted")
	}
}
