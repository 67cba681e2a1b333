// Package keyring encrypts what is kept secret in a database, with keys that are not in it.
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

const (
	keySize = 32 // AES-256
	mark    = "sealed:1:"
)

// Errors of [Keyring.Open].
var (
	ErrNoKey   = errors.New("the key that the database is encrypted with is missing")
	ErrChanged = errors.New("an encrypted value was changed, or is not where it was written")
)

var errForm = errors.New("keys must be given one a line, each of 32 random bytes in base64")

// Keyring is one or more keys. The first encrypts, and each decrypts what it has encrypted. A nil Keyring
// leaves values as they are. It is safe for concurrent use.
type Keyring struct {
	path string // of the file, if there is one

	mu   sync.RWMutex
	keys []key
	text string // what the keys were read from
}

// key is a key and what it is called by: the beginning of its hash, which says nothing of it.
type key struct {
	id     string
	cipher cipher.AEAD
}

// NewKey makes a key as [Parse] reads it.
func NewKey() string {
	secret := make([]byte, keySize)
	_, _ = rand.Read(secret) // does not fail
	return base64.StdEncoding.EncodeToString(secret)
}

// Parse reads keys, one a line. Empty lines and those that begin with # are comments.
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
			return nil, errForm // says nothing of the line
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

// IDs returns what the keys are called by. The first encrypts.
func (k *Keyring) IDs() []string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	ids := make([]string, len(k.keys))
	for i, key := range k.keys {
		ids[i] = key.id
	}
	return ids
}

// Sealed reports whether a value is encrypted, by whatever key.
func Sealed(value string) bool { return strings.HasPrefix(value, mark) }

// Current is what values begin with that the first key has encrypted.
func (k *Keyring) Current() string { return mark + k.IDs()[0] + ":" }

// Mark is what all encrypted values begin with.
func Mark() string { return mark }

// Seal encrypts a value for a place, where alone it can be read.
func (k *Keyring) Seal(value, place string) string {
	if k == nil {
		return value
	}
	k.mu.RLock()
	first := k.keys[0]
	k.mu.RUnlock()
	encrypted := first.cipher.Seal(nil, nil, []byte(value), []byte(place)) //nolint:gosec // it makes the nonce
	return mark + first.id + ":" + base64.StdEncoding.EncodeToString(encrypted)
}

// Open returns the value that was encrypted for a place, and what is not encrypted as it is. A key that is
// missing is looked for in the file again.
func (k *Keyring) Open(text, place string) (string, error) {
	rest, sealed := strings.CutPrefix(text, mark)
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
		if !k.reload() {
			break
		}
	}
	return nil
}
