package auth_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/avatarstudio/avatarstudio/server/internal/api/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// published returns the public keys in a response of Tokens, by id.
func published(t *testing.T, tokens *auth.Tokens) map[string]ed25519.PublicKey {
	t.Helper()
	answer := httptest.NewRecorder()
	tokens.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/.well-known/jwks.json", nil))
	var set struct {
		Keys []map[string]string `json:"keys"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &set); err != nil || answer.Header().Get("Content-Type") != "application/jwk-set+json" {
		t.Fatalf("%v: %s", err, answer.Body)
	}
	keys := make(map[string]ed25519.PublicKey)
	for _, key := range set.Keys {
		x, err := base64.RawURLEncoding.DecodeString(key["x"])
		if err != nil || key["kty"] != "OKP" || key["crv"] != "Ed25519" || key["alg"] != "EdDSA" || key["use"] != "sig" || key["d"] != "" {
			t.Errorf("a key is %v, %v", key, err)
		}
		keys[key["kid"]] = x
	}
	return keys
}

func TestTokens_canBeVerifiedWithThePublishedKeys(t *testing.T) {
	t.Parallel()
	// The key in RFC 8037, appendix A.
	seed, err := base64.RawURLEncoding.DecodeString("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")
	check(t, err)
	tokens, err := auth.NewTokens([]auth.SigningKey{{Seed: seed}}, time.Now)
	check(t, err)
	keys := published(t, tokens)
	if x := base64.RawURLEncoding.EncodeToString(keys["kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"]); x != "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" {
		t.Errorf("the published key is %s of %v", x, keys)
	}
	token, err := tokens.Issue(studio.AccessToken{UserID: "ada", SessionID: "session", IssuedAt: time.Now()})
	check(t, err)
	_, err = jwt.Parse(token, func(token *jwt.Token) (any, error) { return keys[token.Header["kid"].(string)], nil },
		jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithIssuer("avatarstudio"))
	if err != nil {
		t.Error(err)
	}
	answer := httptest.NewRecorder()
	tokens.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/.well-known/jwks.json", nil))
	if answer.Code != http.StatusMethodNotAllowed || answer.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("a POST is answered %d", answer.Code)
	}
}

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
	if !valid(late, issue(early)) || len(published(t, early)) != 2 {
		t.Error("before it takes over, the new key is not there beside the old one")
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
	if valid(early, forged) || len(published(t, early)) != 1 {
		t.Error("the old key is still one")
	}
	if err := early.SetKeys(nil); err == nil {
		t.Error("no key is accepted")
	}
}

func TestTokens_reloadKeysAndKeepThemAfterErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, second := auth.SigningKey{Seed: auth.NewSeed()}, auth.SigningKey{Seed: auth.NewSeed(), From: time.Now()}
		tokens, err := auth.NewTokens([]auth.SigningKey{first}, time.Now)
		check(t, err)
		ctx, stop := context.WithCancel(t.Context())
		reads := 0
		go tokens.RunKeys(ctx, func(context.Context) ([]auth.SigningKey, error) {
			if reads++; reads == 1 {
				return nil, errors.New("down")
			}
			return []auth.SigningKey{first, second}, nil
		}, slog.New(slog.DiscardHandler))
		for _, want := range []int{1, 1, 2, 2} {
			if n := len(published(t, tokens)); n != want {
				t.Errorf("after %d reads there are %d keys, want %d", reads, n, want)
			}
			time.Sleep(auth.KeyOverlap / 6)
			synctest.Wait()
		}
		stop()
		synctest.Wait()
	})
}
