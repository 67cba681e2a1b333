package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/faultlog"
)

const (
	// KeyOverlap is the time from the creation of a key until it signs, in which all daemons load it.
	// [Tokens.RunKeys] loads keys six times in it.
	KeyOverlap = time.Minute
	// keysInterval is the interval at which keys are loaded.
	keysInterval = KeyOverlap / 6
)

// SigningKey is a key for signing access tokens.
type SigningKey struct {
	Seed []byte
	From time.Time // when it replaces the previous key; zero for the first key
}

// signingKey is a parsed SigningKey.
type signingKey struct {
	private ed25519.PrivateKey
	id      string
	from    time.Time
	until   time.Time // when its last token has expired; zero for the last key
}

// SetKeys replaces the signing keys, which may be in any order. There must be at least one. A key signs from its
// From on, until that of the next key. Its tokens remain valid until they expire.
func (t *Tokens) SetKeys(keys []SigningKey) error {
	if len(keys) == 0 {
		return errors.New("auth: no signing key")
	}
	keys = slices.SortedFunc(slices.Values(keys), func(a, b SigningKey) int { return a.From.Compare(b.From) })
	all := make([]signingKey, len(keys))
	for i, key := range keys {
		if len(key.Seed) != ed25519.SeedSize {
			return fmt.Errorf("auth: signing keys must have %d bytes", ed25519.SeedSize)
		}
		private := ed25519.NewKeyFromSeed(key.Seed)
		all[i] = signingKey{private: private, id: thumbprint(private), from: key.From}
		if i > 0 {
			all[i-1].until = Retired(key.From)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.EqualFunc(t.keys, all, func(a, b signingKey) bool { return a.id == b.id && a.until.Equal(b.until) }) {
		t.keys = all
		clear(t.seen) // it may contain tokens of removed keys
	}
	return nil
}

// thumbprint returns the id of the public key of a key (RFC 7638 and RFC 8037).
func thumbprint(private ed25519.PrivateKey) string {
	public := base64.RawURLEncoding.EncodeToString(private[ed25519.SeedSize:])
	hash := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + public + `"}`))
	return base64.RawURLEncoding.EncodeToString(hash[:])
}

// Retired returns when a key is no longer needed, given the time at which the next key replaced it: when its
// last token has expired, and [KeyOverlap] later, for daemons with other clocks.
func Retired(from time.Time) time.Time { return from.Add(TokenLifetime + KeyOverlap) }

// signer returns the key that signs at the given time.
func (t *Tokens) signer(at time.Time) signingKey {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range slices.Backward(t.keys) {
		if !key.from.After(at) {
			return key
		}
	}
	return t.keys[0]
}

// verifier returns the key with the given id, unless its tokens have expired.
func (t *Tokens) verifier(id any) (key signingKey, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range t.keys {
		if id == key.id {
			return key, key.until.IsZero() || key.until.After(t.now())
		}
	}
	return signingKey{}, false
}

// RunKeys calls read every 10 seconds until ctx ends, and SetKeys with its result. If that fails, it logs the error and
// keeps the current keys.
func (t *Tokens) RunKeys(ctx context.Context, read func(context.Context) ([]SigningKey, error), logger *slog.Logger) {
	faults := faultlog.Log{Logger: logger}
	for ; ctx.Err() == nil; studio.Pause(ctx, keysInterval) {
		keys, err := read(ctx)
		if err == nil {
			err = t.SetKeys(keys)
		}
		faults.Error(ctx, "signing keys", err)
	}
}
