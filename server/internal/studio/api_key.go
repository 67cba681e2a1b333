package studio

import (
	"context"
	"crypto/rand"
	"errors"
	"hash/crc32"
	"math/big"
	"strings"
	"time"
)

// APIKeyPrefix begins every API key. Scanners for leaked secrets find keys by it: a key matches avs_[0-9A-Za-z]{38},
// and its last six characters are a checksum.
const APIKeyPrefix = "avs_"

const (
	// MaxAPIKeys is the maximum number of API keys of a user.
	MaxAPIKeys = 100
	// apiKeyUseInterval is the precision of the time of the last use of an API key.
	apiKeyUseInterval = time.Minute

	apiKeyLetters  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	apiKeyRandom   = 32 // characters: 190 bits
	apiKeyChecksum = 6
)

// Errors of API keys.
var (
	// ErrTooManyAPIKeys is returned if the user has [MaxAPIKeys].
	ErrTooManyAPIKeys = errors.New("studio: too many API keys")
	// ErrAPIKeyName is returned if the name of an API key is empty or too long.
	ErrAPIKeyName = errors.New("studio: the name of an API key has 1 to 100 characters")
)

// APIKeyStore stores API keys; see [DatabaseStore].
type APIKeyStore interface {
	// AddAPIKey adds a key. The error is the first that applies: [ErrNotFound] if the user does not exist,
	// [ErrForbidden] if the user is not a member of the workspace of the key, and [ErrTooManyAPIKeys] if the user has
	// limit keys.
	AddAPIKey(ctx context.Context, key APIKey, limit int) error
	// APIKeys returns the keys of a user, the newest first.
	APIKeys(ctx context.Context, userID string) ([]APIKey, error)
	// APIKey returns the key with the given hash. The error is [ErrNotFound] also while its user is disabled, or is not
	// a member of its workspace.
	APIKey(ctx context.Context, hash []byte) (APIKey, error)
	// UseAPIKey records a use of a key.
	UseAPIKey(ctx context.Context, id string, at time.Time) error
	// DeleteAPIKey deletes a key of a user.
	DeleteAPIKey(ctx context.Context, userID, id string) error
}

// APIKey lets a program act as a user without the password.
type APIKey struct {
	ID          string
	UserID      string
	Name        string
	Hash        []byte // SHA-256 of the key
	ReadOnly    bool
	WorkspaceID string // the only workspace in which the key is valid; "" for all. See [OnlyWorkspace]
	CreatedAt   time.Time
	ExpiresAt   time.Time // zero if the key does not expire
	UsedAt      time.Time // of the last use, rounded down to a minute; zero if there is none
}

// AddAPIKey adds a key with the name, which becomes one line, and the user, scope, workspace and expiry of key. It
// returns the added key and its secret, which is stored nowhere.
func (s *Service) AddAPIKey(ctx context.Context, key APIKey) (added APIKey, secret string, err error) {
	name, ok := s.name(key.Name)
	if !ok {
		return APIKey{}, "", ErrAPIKeyName
	}
	secret = newAPIKey()
	key.ID, key.Name, key.Hash, key.CreatedAt = NewID(), name, hashToken(secret), s.now()
	return key, secret, s.database.AddAPIKey(ctx, key, MaxAPIKeys)
}

// APIKeys returns the keys of a user, the newest first.
func (s *Service) APIKeys(ctx context.Context, userID string) ([]APIKey, error) {
	return s.database.APIKeys(ctx, userID)
}

// RevokeAPIKey deletes a key of a user. Daemons refuse it within a second, and end the streams that it opened.
func (s *Service) RevokeAPIKey(ctx context.Context, userID, id string) error {
	return s.database.DeleteAPIKey(ctx, userID, id)
}

// CheckAPIKey returns the key with a hash, and records its use. The error is [ErrUnauthorized] if there is none, it has
// expired, its user is disabled, or its user has left its workspace.
func (s *Service) CheckAPIKey(ctx context.Context, hash []byte) (APIKey, error) {
	key, err := s.database.APIKey(ctx, hash)
	now := s.now()
	if errors.Is(err, ErrNotFound) || err == nil && key.Expired(now) {
		return APIKey{}, ErrUnauthorized
	}
	if used := now.Truncate(apiKeyUseInterval); err == nil && used.After(key.UsedAt) {
		err = s.database.UseAPIKey(ctx, key.ID, used)
	}
	return key, err
}

// Expired reports whether the key has expired at now.
func (k APIKey) Expired(now time.Time) bool { return !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now) }

// newAPIKey returns a random key.
func newAPIKey() string {
	random := make([]byte, apiKeyRandom)
	for i := range random {
		n, _ := rand.Int(rand.Reader, big.NewInt(int64(len(apiKeyLetters)))) // never fails: crypto/rand would crash the process
		random[i] = apiKeyLetters[n.Int64()]
	}
	return APIKeyPrefix + string(random) + checksumOf(string(random))
}

// HashAPIKey returns the hash of a key, by which it is stored. ok reports whether text has the form of a key: a typing
// error and most guesses are found without the store.
func HashAPIKey(text string) (hash []byte, ok bool) {
	random, ok := strings.CutPrefix(text, APIKeyPrefix)
	if !ok || len(random) != apiKeyRandom+apiKeyChecksum || random[apiKeyRandom:] != checksumOf(random[:apiKeyRandom]) {
		return nil, false
	}
	return hashToken(text), true
}

// checksumOf returns the CRC-32 of text in six characters.
func checksumOf(text string) string {
	sum, digits := crc32.ChecksumIEEE([]byte(text)), [apiKeyChecksum]byte{}
	for i := range digits {
		digits[apiKeyChecksum-1-i] = apiKeyLetters[sum%uint32(len(apiKeyLetters))]
		sum /= uint32(len(apiKeyLetters))
	}
	return string(digits[:])
}
