package standardwebhooks

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
)

const (
	secretPrefix   = "whsec_"
	minSecretBytes = 24
	maxSecretBytes = 64
)

// ErrSecret is returned by [ParseSecret] for a text that is not a signing secret.
var ErrSecret = errors.New("standardwebhooks: a secret is whsec_ and 24 to 64 bytes in base64")

// Secret is a key that signs events, as Standard Webhooks defines it: 24 to 64
// random bytes, written as "whsec_" and their base64. Printing, logging or
// marshalling a Secret shows a placeholder; only [Secret.Reveal] shows the key.
type Secret struct {
	key func() []byte // of a function fmt shows no more than the address, inside other structs too
}

// NewSecret makes a Secret of 32 random bytes.
func NewSecret() Secret {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails: crypto/rand ends the process instead
	return hide(key)
}

// ParseSecret reads a Secret; the prefix may be missing. The error is [ErrSecret].
func ParseSecret(text string) (Secret, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, secretPrefix))
	if err != nil || len(key) < minSecretBytes || len(key) > maxSecretBytes {
		return Secret{}, ErrSecret
	}
	return hide(key), nil
}

// Reveal returns the text that [ParseSecret] reads.
func (s Secret) Reveal() string {
	return secretPrefix + base64.StdEncoding.EncodeToString(s.bytes())
}

func hide(key []byte) Secret { return Secret{key: func() []byte { return key }} }

// bytes returns nil for a zero Secret.
func (s Secret) bytes() []byte {
	if s.key == nil {
		return nil
	}
	return s.key()
}

// String returns a placeholder.
func (s Secret) String() string { return secretPrefix + "[hidden]" }

// GoString returns a placeholder.
func (s Secret) GoString() string { return s.String() }

// LogValue returns a placeholder.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns a placeholder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
