package standardwebhooks

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash"
	"log/slog"
	"strings"
)

const (
	secretPrefix   = "whsec_"
	minSecretBytes = 24
	maxSecretBytes = 64
)

// ErrSecret is returned by [ParseSecret] if the text is not a signing secret.
var ErrSecret = errors.New("standardwebhooks: a secret is whsec_ and 24 to 64 bytes in base64")

// Secret is a signing key of Standard Webhooks: 24 to 64 random bytes, written as "whsec_" and the base64
// of the bytes. A Secret that is printed, logged or marshalled shows a placeholder. Only [Secret.Reveal]
// returns the key. The zero Secret has no key: [Sign] refuses it and [Verify] ignores it.
type Secret struct {
	// Functions, because fmt prints only their addresses, even inside other structs.
	key  func() []byte
	hmac func() hash.Hash
}

// NewSecret returns a Secret of 32 random bytes.
func NewSecret() Secret {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // crypto/rand never returns an error
	return hide(key)
}

// ParseSecret parses a Secret. The prefix "whsec_" is optional. The error is [ErrSecret].
func ParseSecret(text string) (Secret, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, secretPrefix))
	if err != nil || len(key) < minSecretBytes || len(key) > maxSecretBytes {
		return Secret{}, ErrSecret
	}
	return hide(key), nil
}

// ParseSecrets parses each text as [ParseSecret] does. If one of them is not a secret, it returns no
// secrets and [ErrSecret].
func ParseSecrets(texts []string) ([]Secret, error) {
	secrets := make([]Secret, len(texts))
	for i, text := range texts {
		var err error
		if secrets[i], err = ParseSecret(text); err != nil {
			return nil, err
		}
	}
	return secrets, nil
}

// Reveal returns the key as text that [ParseSecret] accepts.
func (s Secret) Reveal() string {
	var key []byte
	if s.key != nil {
		key = s.key()
	}
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

func hide(key []byte) Secret {
	keyed := hmac.New(sha256.New, key)
	keyed.Reset() // makes it store its state after the key, which clones then share
	return Secret{
		key: func() []byte { return key },
		hmac: func() hash.Hash {
			clone, err := keyed.(hash.Cloner).Clone()
			if err != nil {
				panic(err) // SHA-256 can be cloned
			}
			return clone
		},
	}
}

// String returns a placeholder.
func (s Secret) String() string { return secretPrefix + "[hidden]" }

// GoString returns a placeholder.
func (s Secret) GoString() string { return s.String() }

// LogValue returns a placeholder.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns a placeholder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
