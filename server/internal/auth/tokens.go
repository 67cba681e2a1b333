package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/avatarstudio/avatarstudio/server"
)

// TokenLifetime is how long an access token is valid.
const TokenLifetime = time.Hour

// maxTokenLength is far above what Issue makes and far below what would be work to parse.
const maxTokenLength = 4096

const (
	issuer    = "avatarstudio"
	algorithm = "EdDSA"
)

var errToken = errors.New("auth: not a valid access token")

// Tokens issues and checks access tokens: JWTs signed with Ed25519 that carry the user id and
// the expiry. It answers requests for its public keys, with which others can check them. Checking reads nothing but the token and what is known to be revoked. The signature of a
// token is verified when the token comes for the first time.
type Tokens struct {
	// Revocations are asked about each token. Default: none is revoked.
	Revocations *Revocations

	parser *jwt.Parser
	now    func() time.Time

	mu   sync.Mutex
	keys []signingKey                 // by the time from which they sign
	seen map[[sha256.Size]byte]access // by the hash of the token
}

// access is what a valid token gives.
type access struct {
	userID, keyID string
	issued, until time.Time
}

// maxSeen is how many tokens are remembered before all are forgotten.
const maxSeen = 10_000

// NewSeed makes what a [SigningKey] needs: 32 random bytes to be kept secret.
func NewSeed() []byte {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	return private.Seed()
}

// NewTokens makes a Tokens that signs with keys and reads time from now.
func NewTokens(keys []SigningKey, now func() time.Time) (*Tokens, error) {
	t := &Tokens{
		now: now, seen: make(map[[sha256.Size]byte]access),
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{algorithm}),
			jwt.WithIssuer(issuer), jwt.WithExpirationRequired(), jwt.WithTimeFunc(now),
		),
	}
	return t, t.SetKeys(keys)
}

// Issue makes a token for a user that is valid for [TokenLifetime] from at. Its iat has a fraction
// (RFC 7519, section 2): a login in the second of a revocation is valid if it came after it.
func (t *Tokens) Issue(userID string, at time.Time) (string, error) {
	key := t.signer(at)
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"iss": issuer,
		"sub": userID,
		"iat": float64(at.UnixMicro()) / 1e6,
		"exp": at.Add(TokenLifetime).Unix(),
	})
	token.Header["kid"] = key.id
	return token.SignedString(key.private)
}

// Authenticate returns the user that a token was issued for.
func (t *Tokens) Authenticate(_ context.Context, token string) (server.Principal, error) {
	if len(token) > maxTokenLength {
		return server.Principal{}, errToken
	}
	hash := sha256.Sum256([]byte(token))
	t.mu.Lock()
	known, seen := t.seen[hash]
	t.mu.Unlock()
	if !seen || !known.until.After(t.now()) {
		var err error
		if known, err = t.verify(token); err != nil {
			return server.Principal{}, err
		}
		t.remember(hash, known)
	}
	if t.Revocations.revokes(known.userID, known.issued) {
		return server.Principal{}, errToken
	}
	return server.Principal{UserID: known.userID}, nil
}

// remember keeps what a token gives, if its key is still one.
func (t *Tokens) remember(hash [sha256.Size]byte, known access) {
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

func (t *Tokens) verify(token string) (access, error) {
	var claims claims
	var key signingKey
	_, err := t.parser.ParseWithClaims(token, &claims, func(token *jwt.Token) (any, error) {
		if _, critical := token.Header["crit"]; critical { // of which none is known (RFC 7515, 4.1.11)
			return nil, errToken
		}
		var known bool
		if key, known = t.verifier(token.Header["kid"]); !known {
			return nil, errToken
		}
		return key.private.Public(), nil
	})
	if err != nil || claims.Subject == "" || claims.IssuedAt == nil {
		return access{}, errToken
	}
	until := claims.ExpiresAt.Time
	if !key.until.IsZero() && key.until.Before(until) {
		until = key.until
	}
	return access{claims.Subject, key.id, claims.issued, until}, nil
}

// claims are those of an access token. Their times must be numbers: the library takes strings too.
type claims struct {
	jwt.RegisteredClaims
	issued time.Time // IssuedAt with its fraction, which the library cuts off
}

func (c *claims) UnmarshalJSON(text []byte) error {
	var times struct {
		ExpiresAt *float64 `json:"exp"`
		NotBefore *float64 `json:"nbf"`
		IssuedAt  *float64 `json:"iat"`
	}
	if err := json.Unmarshal(text, &times); err != nil {
		return err
	}
	if times.IssuedAt != nil {
		c.issued = time.UnixMicro(int64(math.Round(*times.IssuedAt * 1e6)))
	}
	return json.Unmarshal(text, &c.RegisteredClaims)
}
