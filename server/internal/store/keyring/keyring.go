// Package keyring encrypts secrets that are stored in a database, with keys that are not stored in it. It uses
// AES-256-GCM with random nonces.
package keyring

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

const keySize = 32 // AES-256

// Mark is the prefix of all encrypted values.
const Mark = "sealed:1:"

// Errors of [Keyring.Open].
var (
	ErrNoKey   = errors.New("the encryption key of the database is missing")
	ErrChanged = errors.New("an encrypted value was changed or moved")
)

var errForm = errors.New("keys must be one per line, each with 32 random bytes in base64")

// Keyring has one or more keys. The first key encrypts, and each key decrypts what it has encrypted. A nil
// Keyring does not encrypt. Keyring is safe for concurrent use.
type Keyring struct {
	path string // path of the key file, or ""

	mu   sync.RWMutex
	keys []key
	text string // what Create writes
}

// key is a key with its id, which is a prefix of its hash and reveals nothing about the key.
type key struct {
	id     string
	cipher cipher.AEAD
}

// NewKey returns a new key in the format of [Parse].
func NewKey() string {
	secret := make([]byte, keySize)
	_, _ = rand.Read(secret) // never fails
	return base64.StdEncoding.EncodeToString(secret)
}

// Parse parses keys, one per line, each of 32 random bytes in base64. Empty lines and lines that begin with # are
// ignored. There must be at least one key.
func Parse(text string) (*Keyring, error) {
	keys, err := parse(text)
	if err != nil {
		return nil, err
	}
	return &Keyring{keys: keys, text: text}, nil
}

func parse(text string) (keys []key, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		secret, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(secret) != keySize {
			return nil, errForm // must not contain the line
		}
		block, err := aes.NewCipher(secret)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		hash := sha256.Sum256(secret)
		keys = append(keys, key{hex.EncodeToString(hash[:8]), aead})
	}
	if len(keys) == 0 {
		return nil, errForm
	}
	return keys, nil
}

// IDs returns the ids of the keys. The first key is the one that encrypts.
func (k *Keyring) IDs() []string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	ids := make([]string, len(k.keys))
	for i, key := range k.keys {
		ids[i] = key.id
	}
	return ids
}

// Sealed reports whether a value is encrypted, with any key.
func Sealed(value string) bool { return strings.HasPrefix(value, Mark) }

// Prefixes returns the prefix of the values that each key has encrypted. A nil Keyring has none.
func (k *Keyring) Prefixes() []string {
	if k == nil {
		return nil
	}
	prefixes := k.IDs()
	for i, id := range prefixes {
		prefixes[i] = Mark + id + ":"
	}
	return prefixes
}

// Current returns the prefix of all values that are encrypted with the first key.
func (k *Keyring) Current() string { return k.Prefixes()[0] }

// Seal encrypts a value for a place, such as a column of a row. It can be decrypted only for the same place.
func (k *Keyring) Seal(value, place string) string {
	if k == nil {
		return value
	}
	k.mu.RLock()
	first := k.keys[0]
	k.mu.RUnlock()
	encrypted := first.cipher.Seal(nil, nil, []byte(value), []byte(place)) //nolint:gosec // the AEAD generates the nonce
	return Mark + first.id + ":" + base64.StdEncoding.EncodeToString(encrypted)
}

// Open decrypts a value that was encrypted for a place. It returns unencrypted values unchanged. If the key
// is missing, it reads the key file again. The error is ErrNoKey or ErrChanged.
func (k *Keyring) Open(text, place string) (string, error) {
	rest, sealed := strings.CutPrefix(text, Mark)
	if !sealed {
		return text, nil
	}
	id, encoded, _ := strings.Cut(rest, ":")
	aead := k.find(id)
	if aead == nil {
		return "", ErrNoKey
	}
	encrypted, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", ErrChanged
	}
	value, err := aead.Open(nil, nil, encrypted, []byte(place))
	if err != nil {
		return "", fmt.Errorf("%w: %s", ErrChanged, place)
	}
	return string(value), nil
}

func (k *Keyring) find(id string) cipher.AEAD {
	if k == nil {
		return nil
	}
	for range 2 {
		k.mu.RLock()
		i := slices.IndexFunc(k.keys, func(key key) bool { return key.id == id })
		keys := k.keys
		k.mu.RUnlock()
		if i >= 0 {
			return keys[i].cipher
		}
		if k.reload() != nil {
			break
		}
	}
	return nil
}
