// Package auth issues and verifies access tokens, which are signed JWTs, and checks API keys.
package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// TokenLifetime is how long an access token is valid.
const TokenLifetime = time.Hour

// maxTokenLength limits the length of a token in bytes. Tokens of Issue are much shorter, and parsing a token
// of this length is still cheap.
const maxTokenLength = 4096

const (
	issuer    = "avatarstudio"
	algorithm = "EdDSA"
)

var errToken = errors.New("auth: not a valid access token")

// Tokens issues and verifies access tokens. They are JWTs, signed with Ed25519, with the ids of the user and the
// session, and the expiry. Verification uses only the token and the known revocations. The signatures of up to 10,000
// verified tokens are not verified again. Tokens is safe for concurrent use.
type Tokens struct {
	// Revocations is checked for each token. If nil, no tokens are revoked.
	Revocations *Revocations
	// APIKeys are accepted, too. If nil, there are none.
	APIKeys *APIKeys

	parser *jwt.Parser
	now    func() time.Time

	mu   sync.Mutex
	keys []signingKey                  // ordered by the time from which they sign
	seen map[[sha256.Size]byte]*access // verified tokens, by hash
}

// access is the content of a valid token.
type access struct {
	userID, sessionID, keyID string
	until                    time.Time

	apiKey string // hash of the API key that was sent instead of a token
}

// maxSeen limits the cache of verified tokens. The cache is cleared when it is full.
const maxSeen = 10_000

// NewSeed returns a random seed for a [SigningKey]. It is secret.
func NewSeed() []byte {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // never fails: crypto/rand would crash the process
	return seed
}

// NewTokens returns a Tokens that signs with keys, as [Tokens.SetKeys] describes. now returns the current time.
func NewTokens(keys []SigningKey, now func() time.Time) (*Tokens, error) {
	t := &Tokens{
		now: now, seen: make(map[[sha256.Size]byte]*access),
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{algorithm}),
			jwt.WithIssuer(issuer), jwt.WithExpirationRequired(), jwt.WithTimeFunc(now), jwt.WithStrictDecoding(),
		),
	}
	return t, t.SetKeys(keys)
}

// Issue returns a token that is valid for [TokenLifetime].
func (t *Tokens) Issue(of studio.AccessToken) (string, error) {
	key := t.signer(of.IssuedAt)
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"iss": issuer,
		"sub": of.UserID,
		"sid": of.SessionID,
		"iat": of.IssuedAt.Unix(),
		"exp": of.IssuedAt.Add(TokenLifetime).Unix(),
	})
	token.Header["kid"] = key.id
	return token.SignedString(key.private)
}

// Authenticate implements [server.Authenticator]. Its error does not describe why a token is invalid. It refuses scopes
// and all other security schemes, which the document does not have.
func (t *Tokens) Authenticate(ctx context.Context, credential server.Credential) (context.Context, server.Principal, error) {
	if credential.Scheme != "bearerAuth" || len(credential.Scopes) > 0 {
		return ctx, server.Principal{}, fmt.Errorf("auth: nothing checks the scopes %q of %s", credential.Scopes, credential.Scheme)
	}
	if strings.HasPrefix(credential.Token, studio.APIKeyPrefix) {
		return t.APIKeys.authenticate(ctx, credential)
	}
	principal, err := t.Verify(credential.Token)
	return ctx, principal, err
}

// Verify returns the user of a valid access token.
func (t *Tokens) Verify(token string) (server.Principal, error) {
	if len(token) > maxTokenLength {
		return server.Principal{}, errToken
	}
	hash := sha256.Sum256([]byte(token))
	t.mu.Lock()
	known, seen := t.seen[hash]
	t.mu.Unlock()
	if !seen || !known.until.After(t.now()) {
		var err error
		if studio.OnOwnStack(func() { known, err = t.verify(token) }); err != nil {
			return server.Principal{}, err
		}
		t.remember(hash, known)
	}
	if t.Revocations.Revokes(known.sessionID) {
		return server.Principal{}, errToken
	}
	return server.Principal{UserID: known.userID, Value: known}, nil
}

// remember caches a verified token, unless its key has been removed.
func (t *Tokens) remember(hash [sha256.Size]byte, known *access) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.ContainsFunc(t.keys, func(key signingKey) bool { return key.id == known.keyID }) {
		return
	}
	if len(t.seen) == maxSeen {
		clear(t.seen)
	}
	t.seen[hash] = known
}

func (t *Tokens) verify(token string) (*access, error) {
	var claims claims
	var key signingKey
	_, err := t.parser.ParseWithClaims(token, &claims, func(token *jwt.Token) (any, error) {
		if _, critical := token.Header["crit"]; critical { // no critical extensions are supported (RFC 7515, section 4.1.11)
			return nil, errToken
		}
		var known bool
		if key, known = t.verifier(token.Header["kid"]); !known {
			return nil, errToken
		}
		return key.private.Public(), nil
	})
	if err != nil || claims.Subject == "" || claims.session == "" || claims.IssuedAt == nil {
		return nil, errToken
	}
	until := claims.ExpiresAt.Time
	if !key.until.IsZero() && key.until.Before(until) {
		until = key.until
	}
	return &access{userID: claims.Subject, sessionID: claims.session, keyID: key.id, until: until}, nil
}

// claims are the claims of an access token. The times must be numbers, although the library also accepts
// strings.
type claims struct {
	jwt.RegisteredClaims

	session string
}

func (c *claims) UnmarshalJSON(text []byte) error {
	var own struct {
		Session   string   `json:"sid"`
		ExpiresAt *float64 `json:"exp"`
		NotBefore *float64 `json:"nbf"`
		IssuedAt  *float64 `json:"iat"`
	}
	if err := json.Unmarshal(text, &own); err != nil {
		return err
	}
	c.session = own.Session
	return json.Unmarshal(text, &c.RegisteredClaims)
}
