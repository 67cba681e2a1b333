package auth_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/avatarstudio/avatarstudio/server/internal/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func TestPasswords_compareWhatTheyHashed(t *testing.T) {
	t.Parallel()
	passwords := auth.NewPasswords()
	hash, err := passwords.Hash(t.Context(), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") || strings.Contains(hash, "horse") {
		t.Errorf("hash is %s", hash)
	}
	for password, want := range map[string]bool{"correct horse": true, "correct hors": false, "": false} {
		if same, err := passwords.Compare(t.Context(), password, hash); same != want || err != nil {
			t.Errorf("%q is the password: %v, %v", password, same, err)
		}
	}
	again, err := passwords.Hash(t.Context(), "correct horse")
	if err != nil || again == hash {
		t.Error("the same password has the same hash twice")
	}
}

func TestPasswords_areBusyRatherThanSlowForever(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		passwords := auth.NewPasswords()
		release := passwords.Occupy()
		began := time.Now()
		_, err := passwords.Hash(t.Context(), "password")
		if !errors.Is(err, studio.ErrBusy) || time.Since(began) != 5*time.Second {
			t.Errorf("%v after %v, want ErrBusy after 5 s", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := passwords.Compare(ctx, "password", ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the caller's deadline", err)
		}
		release()
		if _, err := passwords.Hash(t.Context(), "password"); err != nil {
			t.Error(err)
		}
	})
}

func TestTokens_authenticateWhatTheyIssued(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 12, 12, 0, 0, 0, time.UTC)
	tokens, err := auth.NewTokens(auth.NewSeed(), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	token, err := tokens.Issue("ada", now)
	if err != nil {
		t.Fatal(err)
	}
	if principal, err := tokens.Authenticate(t.Context(), token); err != nil || principal.UserID != "ada" {
		t.Errorf("got %v, %v", principal, err)
	}
	now = now.Add(auth.TokenLifetime)
	if _, err := tokens.Authenticate(t.Context(), token); err == nil {
		t.Error("an expired token is accepted")
	}
}

func TestTokens_refuseWhatTheyDidNotIssue(t *testing.T) {
	t.Parallel()
	tokens, err := auth.NewTokens(auth.NewSeed(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	others, err := auth.NewTokens(auth.NewSeed(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	foreign, _ := others.Issue("ada", time.Now())
	token, _ := tokens.Issue("ada", time.Now())
	claims := jwt.MapClaims{"iss": "avatarstudio", "sub": "ada", "exp": time.Now().Add(time.Hour).Unix()}
	unsigned, _ := jwt.NewWithClaims(jwt.SigningMethodNone, claims).SignedString(jwt.UnsafeAllowNoneSignatureType)
	symmetric, _ := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte("key"))
	nobody, _ := tokens.Issue("", time.Now())
	parts := strings.Split(token, ".")
	for name, bad := range map[string]string{
		"nothing": "", "garbage": "garbage", "another key": foreign, "no algorithm": unsigned, "another algorithm": symmetric,
		"no user": nobody, "no signature": parts[0] + "." + parts[1] + ".", "a long one": strings.Repeat("a", 5000),
	} {
		if principal, err := tokens.Authenticate(t.Context(), bad); err == nil {
			t.Errorf("%s is accepted for %q", name, principal.UserID)
		} else if bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%s: the error shows the token", name)
		}
	}
	if _, err := auth.NewTokens([]byte("short"), time.Now); err == nil {
		t.Error("a short key is accepted")
	}
}
