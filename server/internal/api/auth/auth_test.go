package auth_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/api/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

var check = harness.Check

func try[T any](result T, err error) func(t testing.TB) T { return harness.Try(result, err) }

func TestTokens_acceptIssuedTokens(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 12, 12, 0, 0, 0, time.UTC)
	tokens := try(auth.NewTokens([]auth.SigningKey{{Seed: auth.NewSeed()}}, func() time.Time { return now }))(t)
	token := try(tokens.Issue(studio.AccessToken{UserID: "ada", SessionID: "session", IssuedAt: now}))(t)
	for range 2 {
		if principal, err := tokens.Verify(token); err != nil || principal.UserID != "ada" {
			t.Errorf("got %v, %v", principal, err)
		}
		now = now.Add(time.Hour - time.Second)
	}
	now = now.Add(-time.Hour + 2*time.Second)
	if _, err := tokens.Verify(token); err == nil {
		t.Error("an expired token is accepted")
	}
}

func TestTokens_rejectForeignTokens(t *testing.T) {
	t.Parallel()
	seed := auth.NewSeed()
	tokens := try(auth.NewTokens([]auth.SigningKey{{Seed: seed}}, time.Now))(t)
	others := try(auth.NewTokens([]auth.SigningKey{{Seed: auth.NewSeed()}}, time.Now))(t)
	foreign, _ := others.Issue(studio.AccessToken{UserID: "ada", SessionID: "session", IssuedAt: time.Now()})
	token, _ := tokens.Issue(studio.AccessToken{UserID: "ada", SessionID: "session", IssuedAt: time.Now()})
	claims := jwt.MapClaims{"iss": "avatarstudio", "sub": "ada", "sid": "session", "exp": time.Now().Add(time.Hour).Unix()}
	unsigned, _ := jwt.NewWithClaims(jwt.SigningMethodNone, claims).SignedString(jwt.UnsafeAllowNoneSignatureType)
	symmetric, _ := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte("key"))
	nobody, _ := tokens.Issue(studio.AccessToken{UserID: "", SessionID: "session", IssuedAt: time.Now()})
	issued, _, err := jwt.NewParser().ParseUnverified(token, jwt.MapClaims{})
	check(t, err)
	signed := func(header, more map[string]any) string {
		token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
			"iss": "avatarstudio", "sub": "ada", "sid": "session", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
		})
		token.Header["kid"] = issued.Header["kid"]
		maps.Copy(token.Header, header)
		maps.Copy(token.Claims.(jwt.MapClaims), more)
		return try(token.SignedString(ed25519.NewKeyFromSeed(seed)))(t)
	}
	if _, err := tokens.Verify(signed(nil, nil)); err != nil {
		t.Error("the token that the others differ from is refused")
	}
	parts := strings.Split(token, ".")
	for name, bad := range map[string]string{
		"nothing": "", "garbage": "garbage", "another key": foreign, "no algorithm": unsigned, "another algorithm": symmetric,
		"no user": nobody, "no session": signed(nil, map[string]any{"sid": ""}), "no signature": parts[0] + "." + parts[1] + ".", "a long one": signed(nil, map[string]any{"more": strings.Repeat("a", 5000)}),
		"another spelling":           token[:len(token)-1] + string(token[len(token)-1]+1), // its last bits encode nothing
		"no key id":                  signed(map[string]any{"kid": nil}, nil),
		"an unknown critical header": signed(map[string]any{"crit": []string{"b64"}, "b64": true}, nil),
		"an exp that is a string":    signed(nil, map[string]any{"exp": fmt.Sprint(time.Now().Add(time.Hour).Unix())}),
		"an iat that is a string":    signed(nil, map[string]any{"iat": fmt.Sprint(time.Now().Unix())}),
	} {
		if principal, err := tokens.Verify(bad); err == nil {
			t.Errorf("%s is accepted for %q", name, principal.UserID)
		} else if bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%s: the error shows the token", name)
		}
	}
	if _, err := auth.NewTokens([]auth.SigningKey{{Seed: []byte("short")}}, time.Now); err == nil {
		t.Error("a short key is accepted")
	}
}

// Revocations and keys are read at their intervals, and kept while they cannot be read.
func TestTokens_readAndKeepAfterErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, second := auth.SigningKey{Seed: auth.NewSeed()}, auth.SigningKey{Seed: auth.NewSeed(), From: time.Now()}
		issued := func(by *auth.Tokens, user string) string {
			return try(by.Issue(studio.AccessToken{UserID: user, SessionID: user, IssuedAt: time.Now()}))(t)
		}
		tokens := try(auth.NewTokens([]auth.SigningKey{first}, time.Now))(t)
		other := try(auth.NewTokens([]auth.SigningKey{second}, time.Now))(t)
		revoked, rotated := issued(tokens, "ada"), issued(other, "bob")
		var up atomic.Bool
		log := slog.New(slog.DiscardHandler)
		failure := func() error {
			if !up.Load() {
				return errors.New("down")
			}
			return nil
		}
		tokens.Revocations = &auth.Revocations{Logger: log, Read: func(context.Context, time.Time) (map[string]time.Time, error) {
			return map[string]time.Time{"ada": time.Now()}, failure()
		}}
		ctx, stop := context.WithCancel(t.Context())
		go tokens.Revocations.Run(ctx)
		go tokens.RunKeys(ctx, func(context.Context) ([]auth.SigningKey, error) { return []auth.SigningKey{first, second}, failure() }, log)
		for _, read := range []bool{false, true, true} {
			time.Sleep(auth.KeyOverlap / 3)
			synctest.Wait()
			_, ended := tokens.Verify(revoked)
			_, begun := tokens.Verify(rotated)
			if (ended != nil) != read || (begun == nil) != read {
				t.Errorf("read: %t, but the revoked token is refused with %v, and one of the new key with %v", read, ended, begun)
			}
			up.Store(!read)
		}
		stop()
		synctest.Wait()
	})
}

// Load reads what is new since the last one, and once a minute all that counts, also after the clock was set back. A
// session that has ended is forgotten when its last token has expired, so that the memory is bounded.
func TestRevocations_areReadOnceAndForgotten(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 12, 12, 0, 0, 0, time.UTC)
	var after time.Time
	var found map[string]time.Time
	revocations := &auth.Revocations{Read: func(_ context.Context, since time.Time) (map[string]time.Time, error) {
		after = since
		return found, nil
	}}
	revocations.Revoke("here", noon)
	found = map[string]time.Time{"elsewhere": noon}
	const overlap, kept = 5 * time.Minute, auth.TokenLifetime + time.Hour
	for _, load := range []struct{ at, after time.Duration }{
		{0, -kept},
		{time.Second, -overlap},
		{59 * time.Second, time.Second - overlap},
		{time.Minute, time.Minute - kept},
		{10 * time.Second, 10*time.Second - kept}, // the clock was set back
		{kept, 0},
	} {
		check(t, revocations.Load(t.Context(), noon.Add(load.at)))
		if found = nil; after.Sub(noon) != load.after {
			t.Errorf("at %v, Load reads what is later than %v, want %v", load.at, after.Sub(noon), load.after)
		}
		for _, session := range []string{"here", "elsewhere"} {
			if !revocations.Revokes(session) {
				t.Errorf("at %v, the session that has ended %s goes on", load.at, session)
			}
		}
	}
	check(t, revocations.Load(t.Context(), noon.Add(kept+1)))
	for _, session := range []string{"here", "elsewhere", "another"} {
		if revocations.Revokes(session) {
			t.Errorf("the session %s is still remembered", session)
		}
	}
}

func TestTokens_rotateKeys(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 12, 12, 0, 0, 0, time.UTC)
	first, second := auth.SigningKey{Seed: auth.NewSeed()}, auth.SigningKey{Seed: auth.NewSeed(), From: now.Add(auth.KeyOverlap)}
	open := func(keys ...auth.SigningKey) *auth.Tokens {
		return try(auth.NewTokens(keys, func() time.Time { return now }))(t)
	}
	// Other daemons load the new key slightly earlier or later.
	late, early := open(first), open(second, first)
	valid := func(tokens *auth.Tokens, token string) bool {
		_, err := tokens.Verify(token)
		return err == nil
	}
	issue := func(tokens *auth.Tokens) string {
		return try(tokens.Issue(studio.AccessToken{UserID: "ada", SessionID: "session", IssuedAt: now}))(t)
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
	if err := late.SetKeys([]auth.SigningKey{second}); err != nil || valid(late, before) || !valid(late, after) {
		t.Errorf("without the old key, its tokens are valid, or others are not (%v)", err)
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
